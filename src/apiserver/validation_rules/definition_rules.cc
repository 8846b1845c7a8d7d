#include "apiserver/validation_rules/definition_rules.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "apiserver/validation_rules/rule_compiler.h"
#include "apiserver/validation_rules/rule_field_path.h"
#include "apiserver/validation_rules/rule_node.h"
#include "apiserver/validation_rules/schema_types.h"
#include "base/strings.h"
#include "schema/structural/schema_validator.h"

namespace porthole::apiserver {
namespace {

using schema::at;
using schema::FieldErrors;
using schema::FieldPath;
using schema::Value;

constexpr std::uint64_t MostOfExpression = 10'000'000, MostOfSchema = 100'000'000;
constexpr std::size_t MostExpensiveShown = 4;
constexpr std::string_view Rules = "x-kubernetes-validations";
/// Issues repeat the lines that they are about: what a definition of a megabyte may be answered.
constexpr std::size_t LongestAnswer = std::size_t{1} << 20;

bool has_line_break(std::string_view text) { return text.find_first_of("\n\r") != text.npos; }

/// Calls `visit(child, path, name)` for the schemas directly below, in upstream's order: `name` is set for properties.
template <class Visit>
void each_child(const Value& schema, const FieldPath& path, Visit visit) {
    if (const Value& other = at(schema, "additionalProperties"); other.is_object())
        visit(other, path.child("additionalProperties"), nullptr);
    if (const Value& properties = at(schema, "properties"); properties.is_object()) {
        for (const schema::Member& property : properties.as_object())
            visit(property.value, path.child("properties").key(property.key), &property.key);
    }
    if (const Value& items = at(schema, "items"); items.is_object()) visit(items, path.child("items"), nullptr);
}

/// A rule as upstream's errors show it.
Value shown(const ValidationRule& rule) {
    return Value::object({{"Rule", rule.rule},
                          {"Message", rule.message},
                          {"MessageExpression", rule.message_expression},
                          {"Reason", rule.reason ? Value(*rule.reason) : Value()},
                          {"FieldPath", rule.field_path},
                          {"OptionalOldSelf", rule.optional_old_self ? Value(*rule.optional_old_self) : Value()}});
}

// --- Texts ---

void check_texts(const ValidationRule& rule, const Value& schema, const FieldPath& path, FieldErrors& errors) {
    const std::string_view text = trim(rule.rule), message = trim(rule.message);
    if (text.empty())
        errors.required(path.child("rule"), "rule is not specified");
    else if (!rule.message.empty() && message.empty())
        errors.invalid(path.child("message"), rule.message, "must be non-empty if specified");
    else if (has_line_break(message))
        errors.invalid(path.child("message"), rule.message, "must not contain line breaks");
    else if (has_line_break(text) && message.empty())
        errors.required(path.child("message"), "message must be specified if rule contains line breaks");
    if (!rule.message_expression.empty() && trim(rule.message_expression).empty())
        errors.required(path.child("messageExpression"), "messageExpression must be non-empty if specified");
    static constexpr std::string_view Reasons[] = {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"};
    if (rule.reason && std::ranges::find(Reasons, *rule.reason) == std::end(Reasons))
        errors.not_supported(path.child("reason"), *rule.reason, Reasons);
    if (rule.field_path.empty()) return;
    const FieldPath at_path = path.child("fieldPath");
    if (trim(rule.field_path).empty()) errors.invalid(at_path, rule.field_path, "must be non-empty if specified");
    if (has_line_break(rule.field_path)) errors.invalid(at_path, rule.field_path, "must not contain line breaks");
    if (!resolve_field_path(rule.field_path, schema)) errors.invalid(at_path, rule.field_path, "must be a valid path");
}

// --- Costs ---

/// The product; UINT64_MAX where it is larger.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/// How often a value of a place can be in an object; nullopt where the schemas around it set no bound.
using Cardinality = std::optional<std::uint64_t>;

Cardinality below(const Cardinality& around, const Value& schema) {
    const auto bounded_by = [&](const char* name) -> Cardinality {
        const Value& most = at(schema, name);
        if (!around || !most.is_int()) return {};
        return product(*around, static_cast<std::uint64_t>(std::max<std::int64_t>(most.as_int(), 0)));
    };
    const std::string_view type = at(schema, "type").string_or("");
    if (type == "array") return bounded_by("maxItems");
    if (type == "object" && schema.find("additionalProperties")) return bounded_by("maxProperties");
    return around;
}

std::string excess(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
    const double factor = static_cast<double>(cost) / static_cast<double>(limit);
    const std::string times = factor > 100.0 ? "more than 100x"
                              : factor < 1.5 ? fmt::format("{:f}x", factor)
                                             : fmt::format("{:.1f}x", factor);
    return fmt::format(
        "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, "
        "and "
        "strings are declared)",
        what, times);
}

/// What all expressions of a schema may cost.
class TotalCost {
public:
    void add(const FieldPath& path, std::uint64_t cost) {
        total_ = cost > UINT64_MAX - total_ ? UINT64_MAX : total_ + cost;
        if (cost < MostOfSchema / 100) return;
        const auto place = std::ranges::upper_bound(expensive_, cost, std::ranges::greater(), &Expensive::cost);
        expensive_.insert(place, {path, cost});
        if (expensive_.size() > MostExpensiveShown) expensive_.pop_back();
    }
    void check(const FieldPath& path, FieldErrors& errors) const {
        if (total_ <= MostOfSchema) return;
        for (const Expensive& one : expensive_)
            errors.forbidden(one.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
        errors.forbidden(path,
                         excess("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", total_, MostOfSchema));
    }

private:
    struct Expensive {
        FieldPath path;
        std::uint64_t cost;
    };
    std::uint64_t total_ = 0;
    std::vector<Expensive> expensive_;  ///< the most expensive first
};

// --- The walk ---

/// What a place of a schema has from those around it.
struct Place {
    Cardinality cardinality = 1;
    /// The list that is nearest to the root and whose items cannot be told apart between two states of an object; nullptr where there is
    /// none.
    const FieldPath* uncorrelatable = nullptr;
    bool in_scope = false;             ///< it, or a place around it, has rules
    std::optional<cel::TypeRef> type;  ///< of the place, where one around it has been declared; nullptr: expressions do not see it
};

class RuleChecker {
public:
    explicit RuleChecker(const RuleCheck& check) : check_(check) {}

    void run(const Value& schema, const FieldPath& path, FieldErrors& errors) {
        node(schema, path, {}, true);
        errors.append(std::move(schema_errors_));
        errors.append(std::move(rule_errors_));
        total_.check(path, errors);
    }

private:
    void node(const Value& schema, const FieldPath& path, Place place, bool is_root) {
        const std::size_t errors_before = schema_errors_.size();
        const std::vector<ValidationRule> rules = rules_of(schema);
        place.in_scope = place.in_scope || !rules.empty();
        const bool is_resource = is_root || at(schema, "x-kubernetes-embedded-resource").bool_or(false);
        if (check_.is_structural && place.in_scope && !place.type) place.type = types_.declare(schema, is_resource);
        each_child(schema, path, [&](const Value& child, const FieldPath& child_path, const std::string* property) {
            node(child, child_path, below_place(schema, path, place, property), false);
        });
        for (std::size_t i = 0; i < rules.size(); ++i) check_texts(rules[i], schema, path.child(Rules).index(i), schema_errors_);
        // Types of a schema that is wrong would only bring errors that go with the others.
        if (rules.empty() || !check_.is_structural || schema_errors_.size() > errors_before) return;
        if (!*place.type) {
            return rule_errors_.internal(
                path.child(Rules),
                "internal error: failed to construct type information for x-kubernetes-validations rules: unable to "
                "convert structural schema to CEL declarations");
        }
        RuleEnvironments environments(*place.type, work_);
        for (std::size_t i = 0; i < rules.size() && answer_ < LongestAnswer; ++i)
            rule(rules[i], place, environments, path.child(Rules).index(i));
    }

    static Place below_place(const Value& schema, const FieldPath& path, const Place& place, const std::string* property) {
        Place below{apiserver::below(place.cardinality, schema), place.uncorrelatable, place.in_scope, {}};
        const bool is_list = at(schema, "type").string_or("") == "array";
        if (is_list && !below.uncorrelatable && at(schema, "x-kubernetes-list-type").string_or("") != "map") below.uncorrelatable = &path;
        if (!place.type) return below;
        const cel::Type* type = place.type->get();
        if (!type) {
            below.type = nullptr;
        } else if (property) {
            // A field that expressions do not see is seen from within: its type is declared anew.
            const cel::ObjectField* field = type->object ? type->object->find(cel::escape_property(*property)) : nullptr;
            if (field) below.type = field->type;
        } else {
            below.type = type->parameters.empty() ? nullptr : type->parameters.back();
        }
        return below;
    }

    void rule(const ValidationRule& rule, const Place& place, RuleEnvironments& environments, const FieldPath& path) {
        const std::size_t causes_before = rule_errors_.size();
        const auto dialect = [&](const std::set<std::string, std::less<>> StoredExpressions::* known, const std::string& text) {
            return check_.stored && (check_.stored->*known).contains(text) ? RuleDialect::Stored : RuleDialect::New;
        };
        const CompiledRule compiled = compile_rule(rule, environments, dialect(&StoredExpressions::rules, rule.rule),
                                                   dialect(&StoredExpressions::messages, rule.message_expression));
        const FieldPath at_rule = path.child("rule"), at_message = path.child("messageExpression");
        if (compiled.program) {
            const std::uint64_t often =
                place.cardinality.value_or(static_cast<std::uint64_t>(LargestRequest / (types_.smallest_size(**place.type) + 1)));
            check_cost(product(compiled.program->estimate_cost().max, often), "estimated rule cost", at_rule);
        }
        if (!compiled.error.empty()) rule_errors_.invalid(at_rule, shown(rule), compiled.error);
        if (!compiled.message_error.empty()) rule_errors_.invalid(at_message, shown(rule), compiled.message_error);
        if (compiled.message) check_cost(compiled.message->estimate_cost().max, "estimated messageExpression cost", at_message);
        if (compiled.uses_old_self && place.uncorrelatable) {
            rule_errors_.invalid(
                at_rule, rule.rule,
                "oldSelf cannot be used on the uncorrelatable portion of the schema within " + std::string(place.uncorrelatable->text()));
        }
        if (!compiled.uses_old_self && rule.optional_old_self)
            rule_errors_.invalid(path.child("optionalOldSelf"), *rule.optional_old_self, "may not be set if oldSelf is not used in rule");
        for (std::size_t i = causes_before; i < rule_errors_.size(); ++i) answer_ += rule_errors_.causes()[i].message.size();
    }

    void check_cost(std::uint64_t cost, std::string_view what, const FieldPath& path) {
        if (!check_.is_unchanged && cost > MostOfExpression) rule_errors_.forbidden(path, excess(what, cost, MostOfExpression));
        total_.add(path, cost);
    }

    const RuleCheck& check_;
    SchemaTypes types_;
    cel::Work work_{RuleCompilation};
    TotalCost total_;
    FieldErrors schema_errors_, rule_errors_;
    std::size_t answer_ = 0;  ///< bytes of the errors of rules
};

// --- Defaults ---

bool has_defaults(const Value& schema) {
    if (!at(schema, "default").is_null()) return true;
    bool found = false;
    each_child(schema, {}, [&](const Value& child, const FieldPath&, const std::string*) { found = found || has_defaults(child); });
    return found;
}

/// Defaults obey the rules at their place and below, both as what comes new and as what stays.
class DefaultChecker {
public:
    explicit DefaultChecker(FieldErrors& errors) : errors_(errors) {}

    void node(const Value& schema, const RuleNode& rules, const FieldPath& path) {
        if (const Value& value = at(schema, "default"); !value.is_null()) check(value, rules, path.child("default"));
        each_child(schema, path, [&](const Value& child, const FieldPath& child_path, const std::string* property) {
            const bool is_items = !property && &child == schema.find("items");
            const RuleNode* below = property ? rules.find_property(*property) : is_items ? rules.items.get() : nullptr;
            if (below && budget_.cost >= 0) node(child, *below, child_path);
        });
    }

private:
    void check(const Value& value, const RuleNode& rules, const FieldPath& path) {
        const auto root = schema::PathStep::root(path.text());
        const std::size_t before = errors_.size();
        RuleBudget again = budget_;
        evaluate_rules(rules, value, &value, root, false, budget_, errors_);
        if (errors_.size() > before) return;
        evaluate_rules(rules, value, nullptr, root, false, again, errors_);
        budget_.cost = std::min(budget_.cost, again.cost);
    }

    FieldErrors& errors_;
    RuleBudget budget_;
};

void check_defaults(const Value& schema, const FieldPath& path, FieldErrors& errors) {
    if (!has_defaults(schema)) return;
    const auto validator = schema::SchemaValidator::compile(schema);
    if (!validator) return;  // was reported before
    SchemaTypes types;
    const RuleNode::Ptr rules = RuleNode::create(schema, *validator->root(), types.declare(schema, true), types);
    if (rules) DefaultChecker(errors).node(schema, *rules, path);
}

}  // namespace

void StoredExpressions::add(const Value& schema) {
    for (const ValidationRule& rule : rules_of(schema)) {
        rules.insert(rule.rule);
        if (!rule.message_expression.empty()) messages.insert(rule.message_expression);
    }
    each_child(schema, {}, [&](const Value& child, const FieldPath&, const std::string*) { add(child); });
}

void check_rules(const Value& schema, const FieldPath& path, const RuleCheck& check, FieldErrors& errors) {
    RuleCheck used = check;
    if (used.is_structural) {
        const std::size_t before = errors.size();
        check_defaults(schema, path, errors);
        used.is_structural = errors.size() == before;
    }
    RuleChecker(used).run(schema, path, errors);
}

}  // namespace porthole::apiserver
