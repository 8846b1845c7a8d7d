#include <algorithm>

#include "base/strings.h"
#include "schema/json/json.h"
#include "schema/print/cells.h"

namespace porthole::schema {

std::string age_of(const Value& timestamp, Timestamp now) {
    const auto time = MicroTimestamp::parse(timestamp.string_or(""));
    if (!time || time->is_zero()) return "<unknown>";
    return format_age(now - *time);
}

std::string text_of(const Value& scalar) {
    if (scalar.is_null()) return "";
    return scalar.is_string() ? scalar.as_string() : to_json(scalar);
}

std::string join_some(const std::vector<std::string>& texts, std::size_t shown, std::string_view more) {
    if (texts.size() <= shown) return join(texts, ",");
    std::string joined = join(std::span(texts).first(shown), ",");
    const std::size_t place = more.find('#');
    return joined.append(more.substr(0, place)).append(std::to_string(texts.size() - shown)).append(more.substr(place + 1));
}

const Array& items_of(const Value& list) {
    static const Array none;
    return list.is_array() ? list.as_array() : none;
}

std::string format_label_map(const Value& labels) {
    std::vector<std::string> texts;
    if (labels.is_object()) {
        for (const Member& label : labels.as_object()) texts.push_back(label.key + "=" + text_of(label.value));
    }
    std::ranges::sort(texts);
    return texts.empty() ? "<none>" : join(texts, ",");
}

namespace {

std::string format_requirement(const Value& requirement) {
    const std::string key(requirement.string_at({"key"}));
    const std::string_view op = requirement.string_at({"operator"});
    if (op == "Exists") return key;
    if (op == "DoesNotExist") return "!" + key;
    std::vector<std::string> values;
    for (const Value& value : items_of(at(requirement, "values"))) values.push_back(text_of(value));
    std::ranges::sort(values);
    return key + (op == "NotIn" ? " notin (" : " in (") + join(values, ",") + ")";
}

}  // namespace

std::string format_label_selector(const Value& selector) {
    std::vector<std::pair<std::string, std::string>> requirements;  // by key
    if (const Value* labels = selector.find("matchLabels"); labels && labels->is_object()) {
        for (const Member& label : labels->as_object()) {
            requirements.emplace_back(label.key, label.key + "=" + text_of(label.value));
        }
    }
    for (const Value& requirement : items_of(at(selector, "matchExpressions"))) {
        requirements.emplace_back(requirement.string_at({"key"}), format_requirement(requirement));
    }
    std::ranges::sort(requirements);
    std::vector<std::string> texts;
    for (auto& [key, text] : requirements) texts.push_back(std::move(text));
    return texts.empty() ? "<none>" : join(texts, ",");
}

const Value& find_condition(const Value& object, std::string_view type) {
    for (const Value& condition : items_of(at(at(object, "status"), "conditions"))) {
        if (condition.string_at({"type"}) == type) return condition;
    }
    return null_value();
}

namespace {

Value age(const Cell& cell) {
    const Value& timestamp = cell.argument();
    // A fallback in the schema text says what stands for no time; without one it is "<unknown>".
    return timestamp.is_null() ? Value() : Value(age_of(timestamp, cell.now));
}

Value seconds(const Cell& cell) {
    const Value& number = cell.argument();
    return number.is_int() ? Value(format_age(std::chrono::seconds(number.as_int()))) : Value();
}

/// Members or items of all arguments together.
Value count(const Cell& cell) {
    std::size_t count = 0;
    for (const std::string_view path : cell.arguments) {
        const Value& value = first_at(cell.object, path);
        if (value.is_object()) count += value.as_object().size();
        if (value.is_array()) count += value.as_array().size();
    }
    return count;
}

Value join_cell(const Cell& cell) {
    std::vector<std::string> texts;
    for (const Value& item : items_of(cell.argument())) texts.push_back(text_of(item));
    return join(texts, ",");
}

Value trim_cell(const Cell& cell) { return trim(cell.argument().string_or("")); }

Value boolean(const Cell& cell) { return cell.argument().bool_or(cell.arguments.size() > 1 && cell.arguments[1] == "true"); }

Value true_false(const Cell& cell) {
    const Value& flag = cell.argument();
    if (!flag.is_bool()) return "<unset>";
    return flag.as_bool() ? "True" : "False";
}

Value label_map(const Cell& cell) { return format_label_map(cell.argument()); }
Value label_selector(const Cell& cell) { return format_label_selector(cell.argument()); }

constexpr CellFunction general_functions[] = {
    {"age", age},
    {"seconds", seconds},
    {"count", count},
    {"join", join_cell},
    {"trim", trim_cell},
    {"bool", boolean},
    {"true_false", true_false},
    {"label_map", label_map},
    {"label_selector", label_selector},
};

}  // namespace

const std::span<const CellFunction> general_cells = general_functions;

}  // namespace porthole::schema
