// Structural validation: what the tables can tell about a tree.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "base/regex.h"
#include "base/strings.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/path_step.h"

namespace porthole::schema {
namespace {

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// 0, 1.5, -3: a bound as people write it.
std::string plain(double number) { return to_json(Value(number)); }

class Validator {
public:
    explicit Validator(FieldErrors& errors) : errors_(errors) {}

    void object(const Value& value, const Type& type, const PathStep& path, bool skips_meta) {
        for (const Field& field : type.fields) {
            if (skips_meta && (field.name == "metadata" || field.name == "status")) continue;
            member(value.find(field.name), field, path.child(field.name));
        }
    }

private:
    void member(const Value* value, const Field& field, const PathStep& path) {
        if (!value || value->is_null()) {
            if (field.is(Field::Required) && counts_when_absent(field)) errors_.required(path.text());
            return;
        }
        if (field.is(Field::Required) && is_blank(*value) && !field.is(Field::MayBeEmpty)) return errors_.required(path.text());
        if (field.is_list() && value->is_array()) {
            list(value->as_array(), field, path);
        } else if (field.is_map() && value->is_object()) {
            count(value->as_object().size(), field, path);
            for (const Member& entry : value->as_object()) element(entry.value, field, path.key(entry.key));
        } else if (field.is_single()) {
            element(*value, field, path);
        }
    }

    /// Numbers, bools and structs by value are zero when absent; whether that will do is said by their bounds and members.
    static bool counts_when_absent(const Field& field) {
        if (field.is(Field::MayBeEmpty)) return false;
        const bool nullable = !field.is_single() || field.is(Field::Pointer);
        return nullable || field.form == Form::String || field.form == Form::Bytes;
    }

    static bool is_blank(const Value& value) {
        return (value.is_string() && value.as_string().empty()) || (value.is_array() && value.as_array().empty());
    }

    void list(const Array& items, const Field& field, const PathStep& path) {
        count(items.size(), field, path);
        for (std::size_t i = 0; i < items.size(); ++i) element(items[i], field, path.index(i));
        if (field.list_type != ListType::Atomic) duplicates(items, field, path);
    }

    void duplicates(const Array& items, const Field& field, const PathStep& path) {
        std::unordered_set<std::string> seen;
        for (std::size_t i = 0; i < items.size(); ++i) {
            Value identity = items[i];
            if (field.list_type == ListType::Map) {
                identity = Value::object();
                for (const std::string_view key : field.list_keys()) identity[key] = key_value(items[i], field, key);
            }
            if (!seen.insert(to_json(identity)).second) errors_.duplicate(path.index(i).text(), identity);
        }
    }

    static Value key_value(const Value& item, const Field& field, std::string_view key) {
        if (const Value* found = item.find(key)) return *found;
        const Field* member = field.type ? field.type->find_field(key) : nullptr;
        if (!member || member->default_json().empty()) return {};
        return parse_json(member->default_json()).value_or(Value());
    }

    void count(std::size_t size, const Field& field, const PathStep& path) {
        const Limits* limits = field.limits();
        if (!limits) return;
        if (size > limits->max_items) errors_.too_many(path.text(), size, limits->max_items);
        if (size < limits->min_items) errors_.too_few(path.text(), size, limits->min_items);
    }

    void element(const Value& value, const Field& field, const PathStep& path) {
        if (field.form == Form::Nested) return member(&value, *field.element, path);
        if (field.form == Form::Struct) {
            if (value.is_object() && !field.type->is(Type::Alternatives)) object(value, *field.type, path, false);
            return;
        }
        enumeration(value, field, path);
        if (const Limits* limits = field.limits()) bounds(value, *limits, path);
    }

    void enumeration(const Value& value, const Field& field, const PathStep& path) {
        const Enumeration* known = field.enumeration();
        if (!known || !known->closed || !value.is_string() || value.as_string().empty()) return;
        if (std::find(known->values.begin(), known->values.end(), value.as_string()) != known->values.end()) return;
        std::vector<std::string_view> sorted(known->values.begin(), known->values.end());
        std::sort(sorted.begin(), sorted.end());
        errors_.not_supported(path.text(), value, sorted);
    }

    void bounds(const Value& value, const Limits& limits, const PathStep& path) {
        if (value.is_number()) {
            const double number = value.as_double();
            if (limits.minimum && limits.maximum && (number < *limits.minimum || number > *limits.maximum)) {
                return errors_.invalid(path.text(), value,
                                       fmt::format("must be between {} and {}, inclusive", plain(*limits.minimum), plain(*limits.maximum)));
            }
            if (limits.minimum && number < *limits.minimum)
                return errors_.invalid(path.text(), value, fmt::format("must be greater than or equal to {}", plain(*limits.minimum)));
            if (limits.maximum && number > *limits.maximum)
                return errors_.invalid(path.text(), value, fmt::format("must be less than or equal to {}", plain(*limits.maximum)));
        }
        if (value.is_string()) text(value, limits, path);
    }

    void text(const Value& value, const Limits& limits, const PathStep& path) {
        const std::size_t length = characters(value.as_string());
        if (length > limits.max_length) return errors_.too_long_characters(path.text(), limits.max_length);
        if (length < limits.min_length) {
            return errors_.invalid(path.text(), value,
                                   fmt::format("{} in body should be at least {} chars long", path.text(), limits.min_length));
        }
        if (!limits.pattern.empty() && !matches(value.as_string(), limits.pattern)) {
            errors_.invalid(path.text(), value, fmt::format("{} in body should match '{}'", path.text(), limits.pattern));
        }
    }

    /// A pattern that cannot be read refuses nothing: it was checked when it came.
    static bool matches(const std::string& text, std::string_view pattern) {
        const auto regex = Regex::compile(pattern);
        return !regex || regex->search(text);
    }

    FieldErrors& errors_;
};

void immutable(const Value& before, const Value& after, const Type& type, const FieldPath& path, FieldErrors& errors) {
    for (const Field& field : type.fields) {
        const Value& old_value = at(before, field.name);
        const Value& new_value = at(after, field.name);
        if (field.is(Field::Immutable)) {
            if (!(old_value == new_value)) errors.invalid(path.child(field.name), new_value, "field is immutable");
        } else if (field.is_single() && field.form == Form::Struct && old_value.is_object() && new_value.is_object()) {
            immutable(old_value, new_value, *field.type, path.child(field.name), errors);
        }
    }
}

}  // namespace

void validate_structure(const Value& value, const Kind& kind, FieldErrors& errors) {
    if (value.is_object()) Validator(errors).object(value, *kind.type, PathStep(), true);
}

void validate_structure(const Value& value, const Type& type, const FieldPath& path, FieldErrors& errors) {
    if (value.is_object()) Validator(errors).object(value, type, PathStep::root(path.text()), false);
}

void validate_immutable(const Value& before, const Value& after, const Kind& kind, FieldErrors& errors) {
    immutable(before, after, *kind.type, FieldPath(), errors);
}

}  // namespace porthole::schema
