#include "fleet/stage_selector.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::fleet {
namespace {

using schema::Value;

Error query_not_understood(std::string_view text) {
    return Error(Reason::BadRequest, "the query \"" + std::string(text) +
                                         "\" is not understood; write it like .a.b, .a.[].b or .a.[] | select( .b == \"c\" ) | .d");
}

bool is_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char letter) {
        return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    });
}

std::string text_of(const Value& value) { return value.is_string() ? value.as_string() : schema::to_json(value); }

Result<std::map<std::string, std::string>> strings_of(const Value& object, const std::string& where) {
    std::map<std::string, std::string> made;
    if (object.is_null()) return made;
    if (!object.is_object()) return Error(Reason::BadRequest, where + " must be an object");
    for (const schema::Member& member : object.as_object()) made[member.key] = text_of(member.value);
    return made;
}

bool contains_all(const Value* object, const std::map<std::string, std::string>& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& pair) {
        const Value* found = object ? object->find(pair.first) : nullptr;
        return found && text_of(*found) == pair.second;
    });
}

}  // namespace

Result<void> only_members(const Value& object, const std::string& where, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) return Error(Reason::BadRequest, where + " must be an object");
    for (const schema::Member& member : object.as_object())
        if (std::ranges::find(known, member.key) == known.end())
            return Error(Reason::BadRequest, where + "." + member.key + " is not supported");
    return {};
}

// --- queries

Result<void> StageQuery::parse_path(std::string_view text, std::vector<Step>& steps) {
    const std::string_view whole = text;
    if (!text.starts_with('.')) return query_not_understood(whole);
    while (!text.empty()) {
        if (text.starts_with(".[]") || text.starts_with("[]")) {
            text.remove_prefix(text.starts_with('.') ? 3 : 2);
            steps.push_back({Step::Kind::Each, {}, ""});
            continue;
        }
        if (!text.starts_with('.')) return query_not_understood(whole);
        text.remove_prefix(1);
        const std::size_t end = std::min(text.find_first_of(".["), text.size());
        if (!is_name(text.substr(0, end))) return query_not_understood(whole);
        steps.push_back({Step::Kind::Member, {std::string(text.substr(0, end))}, ""});
        text.remove_prefix(end);
    }
    return {};
}

Result<StageQuery> StageQuery::parse(std::string_view text) {
    StageQuery query;
    std::string_view rest = text;
    for (;;) {
        const std::size_t pipe = std::min(rest.find('|'), rest.size());
        std::string_view part = trim(rest.substr(0, pipe), " ");
        if (part.starts_with("select(") && part.ends_with(')')) {
            part = trim(part.substr(7, part.size() - 8), " ");
            const std::size_t equals = part.find("==");
            if (equals == part.npos) return query_not_understood(text);
            std::vector<Step> path;
            TRY_VOID(parse_path(trim(part.substr(0, equals), " "), path));
            const auto wanted = schema::parse_json(trim(part.substr(equals + 2), " "));
            if (!wanted || !wanted->is_string()) return query_not_understood(text);
            Step select{Step::Kind::Select, {}, wanted->as_string()};
            for (Step& step : path) {
                if (step.kind != Step::Kind::Member) return query_not_understood(text);
                select.path.push_back(std::move(step.path.front()));
            }
            query.steps_.push_back(std::move(select));
        } else {
            TRY_VOID(parse_path(part, query.steps_));
        }
        if (pipe == rest.size()) return query;
        rest.remove_prefix(pipe + 1);
    }
}

std::vector<const Value*> StageQuery::find(const Value& object) const {
    std::vector<const Value*> found = {&object};
    for (const Step& step : steps_) {
        std::vector<const Value*> next;
        for (const Value* value : found) {
            if (step.kind == Step::Kind::Member) {
                next.push_back(&schema::at(*value, step.path.front()));
            } else if (step.kind == Step::Kind::Each) {
                if (!value->is_array()) continue;
                for (const Value& element : value->as_array()) next.push_back(&element);
            } else {
                const Value* compared = value;
                for (const std::string& name : step.path) compared = &schema::at(*compared, name);
                if (compared->string_or("") == step.wanted && compared->is_string()) next.push_back(value);
            }
        }
        found = std::move(next);
    }
    std::erase_if(found, [](const Value* value) { return value->is_null(); });
    return found;
}

// --- selectors

Result<StageSelector::Expression> StageSelector::parse_expression(const Value& expression) {
    const std::string where = "spec.selector.matchExpressions[]";
    TRY_VOID(only_members(expression, where, {"key", "operator", "values", "jq"}));
    // Newer versions of KWOK write the same below "jq".
    const Value& from = expression.find("jq") ? schema::at(expression, "jq") : expression;
    TRY_VOID(only_members(from, where + ".jq", {"key", "operator", "values", "jq"}));
    TRY(StageQuery query, StageQuery::parse(from.string_at({"key"})));
    Expression made{std::move(query), std::string(from.string_at({"operator"})), {}};
    const bool takes_values = made.op == "In" || made.op == "NotIn";
    if (!takes_values && made.op != "Exists" && made.op != "DoesNotExist")
        return Error(Reason::BadRequest, where + ".operator: \"" + made.op + "\" is not one of In, NotIn, Exists, DoesNotExist");
    const Value& values = schema::at(from, "values");
    if (takes_values != (values.is_array() && !values.as_array().empty()))
        return Error(Reason::BadRequest, where + ".values: In and NotIn take values, and the others do not");
    if (takes_values)
        for (const Value& value : values.as_array()) made.values.push_back(text_of(value));
    return made;
}

Result<StageSelector> StageSelector::parse(const Value& selector) {
    StageSelector made;
    if (selector.is_null()) return made;
    made.selects_ = true;
    TRY_VOID(only_members(selector, "spec.selector", {"matchLabels", "matchAnnotations", "matchExpressions"}));
    TRY(made.labels_, strings_of(schema::at(selector, "matchLabels"), "spec.selector.matchLabels"));
    TRY(made.annotations_, strings_of(schema::at(selector, "matchAnnotations"), "spec.selector.matchAnnotations"));
    const Value& expressions = schema::at(selector, "matchExpressions");
    if (expressions.is_null()) return made;
    if (!expressions.is_array()) return Error(Reason::BadRequest, "spec.selector.matchExpressions must be a list");
    for (const Value& one : expressions.as_array()) {
        TRY(Expression expression, parse_expression(one));
        made.expressions_.push_back(std::move(expression));
    }
    return made;
}

bool StageSelector::holds(const Expression& expression, const Value& object) {
    const auto found = expression.query.find(object);
    if (expression.op == "Exists") return !found.empty();
    if (expression.op == "DoesNotExist") return found.empty();
    const bool any = std::ranges::any_of(
        found, [&](const Value* value) { return std::ranges::find(expression.values, text_of(*value)) != expression.values.end(); });
    return any == (expression.op == "In");
}

bool StageSelector::matches(const Value& object) const {
    return selects_ && contains_all(object.at_path({"metadata", "labels"}), labels_) &&
           contains_all(object.at_path({"metadata", "annotations"}), annotations_) &&
           std::ranges::all_of(expressions_, [&](const Expression& expression) { return holds(expression, object); });
}

}  // namespace porthole::fleet
