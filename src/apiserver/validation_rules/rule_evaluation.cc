#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "apiserver/expressions/expression.h"
#include "apiserver/validation_rules/rule_node.h"
#include "base/strings.h"
#include "schema/structural/items_by_key.h"

namespace porthole::apiserver {
namespace {

using schema::FieldErrors;
using schema::FieldPath;
using schema::ItemsByKey;
using schema::PathStep;
using schema::SchemaNode;
using schema::Value;

constexpr std::uint64_t CostOfNothing = 10;       ///< of an evaluation that upstream counts with 0: about the time that it takes
constexpr std::size_t LongestMessage = 5 * 1024;  ///< that a messageExpression may yield, in bytes
constexpr const char* NoPath = "<nil>";           ///< of the object itself
constexpr const char* Stopped = "no further validation rules will be run";

/// Whether a value is what it was, as upstream compares them: lists that are maps by their keys, and never what the schema does not
/// describe.
bool is_unchanged(const SchemaNode& node, const Value& value, const Value& old) {
    if (value.is_array() && old.is_array()) {
        const schema::Array& items = value.as_array();
        if (items.size() != old.as_array().size()) return false;
        if (node.list_type != schema::ListType::Map || !node.items) return value == old;
        const ItemsByKey old_items(node, &old);
        return std::ranges::all_of(items, [&](const Value& item) {
            const Value* before = old_items.find(item);
            return before && is_unchanged(*node.items, item, *before);
        });
    }
    if (value.is_object() && old.is_object()) {
        if (value.as_object().size() != old.as_object().size()) return false;
        return std::ranges::all_of(value.as_object(), [&](const schema::Member& member) {
            const SchemaNode* schema = node.find_property(member.key);
            if (!schema) schema = node.additional_properties.get();
            const Value* before = old.find(member.key);
            return schema && before && is_unchanged(*schema, member.value, *before);
        });
    }
    return value == old;
}

/// A value and the one that it replaces. Compared at most once.
struct Correlation {
    const SchemaNode& node;
    const Value& value;
    const Value& old;
    mutable std::optional<bool> unchanged;

    bool is_unchanged() const {
        if (!unchanged) unchanged = apiserver::is_unchanged(node, value, old);
        return *unchanged;
    }
};

/// What decides whether an error of a value counts: the value itself or, where nothing tells which old value it replaces (an item of a
/// list), the nearest value around it of which that is known.
struct Ratchet {
    const Correlation* value = nullptr;
    const Correlation* parent = nullptr;

    bool forgives() const { return value ? value->is_unchanged() : parent && parent->is_unchanged(); }
    Ratchet below(const std::optional<Correlation>& child) const { return value ? Ratchet{child ? &*child : nullptr, value} : *this; }
    /// Both values are shown in the same version: whether these fields have changed does not show.
    bool hides(std::string_view field) const { return value && !parent && (field == "apiVersion" || field == "kind"); }
};

FieldPath where(const PathStep& path) {
    std::string text = path.text();
    return text.empty() ? FieldPath(NoPath) : FieldPath(std::move(text));
}

/// What an error calls the rule.
std::string_view name_of(const ValidationRule& rule) { return trim(rule.message.empty() ? rule.rule : rule.message); }

/// What an expression's message may be: "" where the rule's own is used instead.
std::string_view usable_message(const cel::Value& value) {
    if (!value.is(cel::Kind::String)) return "";
    const std::string_view text = trim(value.as_text());
    return text.size() > LongestMessage || text.contains('\n') ? "" : text;
}

/// The variables of a place's rules. `old` of rules for which it is optional is an optional.
struct Variables {
    Variables(const RuleNode& node, const Value& value, const Value* old) {
        const cel::Value self = cel::Value::of(value, node.type.get());
        plain.set("self", self);
        optional.set("self", self);
        const auto uses_old = [](const CompiledRule& rule) { return rule.uses_old_self; };
        if (std::ranges::none_of(node.compiled(), uses_old)) return;
        const cel::Value before = old ? cel::Value::of(*old, node.type.get()) : cel::Value();
        if (old) plain.set("oldSelf", before);
        optional.set("oldSelf", old ? cel::Value::some(before) : cel::Value::none());
    }
    cel::Activation plain, optional;
};

class RuleWalker {
public:
    RuleWalker(RuleBudget& budget, FieldErrors& errors) : budget_(budget), errors_(errors) {}

    void value(const RuleNode& node, const Value& value, const Value* old, const Ratchet& ratchet, const PathStep& path) {
        if (is_done() || value.is_null()) return;
        const Value* comparable = old && !old->is_null() ? old : nullptr;
        if (!node.rules.empty()) rules(node, value, comparable, ratchet, path);
        if (is_done()) return;
        if (value.is_array()) items(node, value, comparable, ratchet, path);
        if (value.is_object()) members(node, value, comparable, ratchet, path);
    }

private:
    bool is_done() const { return budget_.cost < 0 || budget_.errors == 0 || budget_.text == 0; }

    void items(const RuleNode& node, const Value& value, const Value* old, const Ratchet& ratchet, const PathStep& path) {
        if (!node.items) return;
        const ItemsByKey old_items(*node.schema, old);
        for (std::size_t i = 0; i < value.as_array().size() && !is_done(); ++i) {
            const Value& item = value.as_array()[i];
            child(*node.items, item, old_items.find(item), ratchet, path.index(i));
        }
    }

    void members(const RuleNode& node, const Value& value, const Value* old, const Ratchet& ratchet, const PathStep& path) {
        for (const schema::Member& member : value.as_object()) {
            const Value* before = old ? old->find(member.key) : nullptr;
            if (const RuleNode* property = node.find_property(member.key))
                child(*property, member.value, before, ratchet.hides(member.key) ? Ratchet() : ratchet, path.child(member.key));
            else if (node.additional_properties)
                child(*node.additional_properties, member.value, before, ratchet, path.key(member.key));
            if (is_done()) return;
        }
    }

    void child(const RuleNode& node, const Value& value, const Value* old, const Ratchet& ratchet, const PathStep& path) {
        std::optional<Correlation> correlation;
        if (ratchet.value && old) correlation.emplace(*node.schema, value, *old);
        this->value(node, value, old, ratchet.below(correlation), path);
    }

    // --- The rules of one value ---

    void rules(const RuleNode& node, const Value& value, const Value* old, const Ratchet& ratchet, const PathStep& path) {
        const std::string& type = node.schema->type;
        if (!node.type) {
            return fail(path, type, "rule compiler initialization error: failed to convert to declType for CEL validation rules");
        }
        if (budget_.cost == 0) return stop(path, type, OutOfBudget);
        const std::vector<CompiledRule>& compiled = node.compiled();
        const Variables variables(node, value, old);
        for (std::size_t i = 0; i < compiled.size() && !is_done(); ++i) {
            const ValidationRule& rule = node.rules[i].given;
            if (!compiled[i].error.empty()) {
                fail(path, type, "rule compile error: " + compiled[i].error);
                continue;
            }
            const bool is_optional = rule.optional_old_self.value_or(false);
            if (!compiled[i].program || (compiled[i].uses_old_self && !old && !is_optional)) continue;
            if (holds(*compiled[i].program, rule, is_optional ? variables.optional : variables.plain, type, path)) continue;
            if (!is_done()) violated(node, i, value, variables, ratchet, path);
        }
    }

    /// True also where an error has been reported instead.
    bool holds(const cel::Program& program, const ValidationRule& rule, const cel::Activation& variables, const std::string& type,
               const PathStep& path) {
        const cel::Evaluation done = evaluate(program, variables);
        if (!spend(done.cost)) return stop(path, type, OutOfBudget), true;
        if (!done.value.is_error()) return done.value.is_true();
        const std::string_view mistake = done.value.as_text();
        if (done.is_cancelled) {
            stop(path, type, fmt::format("'{}': {} due to call cost exceeds limit for rule: {}", mistake, Stopped, name_of(rule)));
        } else if (mistake.starts_with("no such overload")) {
            fail(path, type,
                 fmt::format("'{}': call arguments did not match a supported operator, function or macro signature for rule: {}", mistake,
                             name_of(rule)));
        } else {
            fail(path, type, fmt::format("{} evaluating rule: {}", mistake, name_of(rule)));
        }
        return true;
    }

    void violated(const RuleNode& node, std::size_t index, const Value& value, const Variables& variables, const Ratchet& ratchet,
                  const PathStep& path) {
        const RuleNode::Rule& rule = node.rules[index];
        const CompiledRule& compiled = node.compiled()[index];
        const FieldPath at = rule.field_path.empty() ? where(path) : FieldPath(path.text()).child(rule.field_path);
        const bool is_forgiven = !compiled.uses_old_self && ratchet.forgives();
        std::string message;
        if (compiled.message) {
            // Upstream gives a messageExpression the old value itself, even where the rule has it as an optional.
            const cel::Evaluation done = evaluate(*compiled.message, variables.plain);
            FieldErrors ending;
            if (!spend(done.cost)) {
                ending.invalid(at, node.schema->type,
                               std::string("messageExpression evaluation failed due to running out of cost budget, ") + Stopped);
            } else if (done.is_cancelled) {
                ending.invalid(at, node.schema->type,
                               fmt::format("{} due to call cost exceeds limit for messageExpression: {}", Stopped,
                                           quote(rule.given.message_expression)));
            }
            if (!ending.empty()) {
                budget_.cost = -1;
                // Differs from Kubernetes: never a warning alone, because the rules that follow have not been evaluated.
                return report(std::move(ending), false);
            }
            message = usable_message(done.value);
        }
        if (message.empty())
            message = rule.given.message.empty() ? fmt::format("failed rule: {}", name_of(rule.given)) : name_of(rule.given);
        FieldErrors error;
        add(rule.given.reason.value_or(""), node.schema->type, value, at, message, error);
        report(std::move(error), is_forgiven);
    }

    static void add(std::string_view reason, const std::string& type, const Value& value, const FieldPath& path, const std::string& message,
                    FieldErrors& errors) {
        const bool is_whole = type == "object" || type == "array";
        if (reason == "FieldValueForbidden")
            errors.forbidden(path, message);
        else if (reason == "FieldValueRequired")
            errors.required(path, message);
        else if (reason == "FieldValueDuplicate")
            is_whole ? errors.duplicate_as_a_whole(path) : errors.duplicate(path, value);
        else
            is_whole ? errors.invalid_as_a_whole(path, message) : errors.invalid(path, value, message);
    }

    // --- Accounts ---

    cel::Evaluation evaluate(const cel::Program& program, const cel::Activation& variables) {
        cel::Evaluation done = program.evaluate(variables, {.cost_limit = expression_costs::Call, .work_limit = budget_.work});
        budget_.work -= std::min(done.work, budget_.work);
        return done;
    }

    /// False when the object has cost too much. What costs nothing counts as well: an hour goes with a billion times the rule `true`.
    bool spend(std::uint64_t cost) {
        const std::uint64_t counted = cost == 0 ? CostOfNothing : cost;
        if (counted > static_cast<std::uint64_t>(budget_.cost)) return false;
        budget_.cost -= static_cast<std::int64_t>(counted);
        return true;
    }

    void fail(const PathStep& path, const std::string& type, const std::string& detail) {
        FieldErrors error;
        error.invalid(where(path), type, detail);
        report(std::move(error), false);
    }
    void stop(const PathStep& path, const std::string& type, const std::string& detail) {
        fail(path, type, detail);
        budget_.cost = -1;
    }

    void report(FieldErrors error, bool is_forgiven) {
        if (is_forgiven) {
            if (budget_.warnings > 0) errors_.warn(error.text()), --budget_.warnings;
            return;
        }
        --budget_.errors;
        budget_.text -= std::min(error.causes().front().message.size(), budget_.text);
        errors_.append(std::move(error));
    }

    RuleBudget& budget_;
    FieldErrors& errors_;
};

}  // namespace

void evaluate_rules(const RuleNode& node, const Value& value, const Value* old, const PathStep& path, bool ratchets, RuleBudget& budget,
                    FieldErrors& errors) {
    std::optional<Correlation> correlation;
    if (ratchets && old) correlation.emplace(*node.schema, value, *old);
    const Ratchet ratchet{correlation ? &*correlation : nullptr, nullptr};
    RuleWalker(budget, errors).value(node, value, old, ratchet, path);
}

}  // namespace porthole::apiserver
