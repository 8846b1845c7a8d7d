#include <algorithm>
#include <array>
#include <cmath>

#include "cel/library/libraries.h"
#include "cel/plan.h"

namespace porthole::cel {
namespace {

constexpr std::uint32_t DeepestValue = 500;

/// A loop's variable. An accumulator gets its first value when it is first read: what `cel.bind` names and does not use costs nothing.
struct Local {
    Value value;
    const Step* initial = nullptr;
};

class Evaluator {
public:
    Evaluator(const Plan& plan, const Activation& activation, EvaluateOptions options)
        : plan_(plan),
          activation_(activation),
          cost_limit_(options.cost_limit),
          own_work_({.steps = options.work_limit.value_or(cost_product(options.cost_limit, EvaluateOptions::WorkInUnit)),
                     .bytes = EvaluateOptions::MostBytes}),
          work_(options.work ? *options.work : own_work_),
          globals_(plan.globals.size()),
          locals_(plan.locals) {}

    Evaluation run() {
        const std::uint64_t before = work_.steps();
        Evaluation done;
        done.value = evaluate(*plan_.root);
        done.cost = cost_;
        done.work = work_.steps() - before;
        done.is_cancelled = is_cancelled();
        if (done.is_cancelled) done.value = cancellation();
        return done;
    }

private:
    static Value cancellation() { return Value::error("operation cancelled: actual cost limit exceeded"); }

    void charge(std::uint64_t amount) { cost_ += std::min(amount, UINT64_MAX - cost_); }
    bool is_cancelled() const { return cost_ > cost_limit_ || work_.is_used_up(); }

    /// What walks over a value, or ends its life, goes as deep as it is nested.
    Value nested(Value value) {
        if (value.depth() > DeepestValue) work_.use_up();
        return value;
    }

    Value evaluate(const Step& step) {
        work_.look();
        if (is_cancelled()) return cancellation();
        switch (step.kind) {
            case StepKind::Constant:
                return step.constant;
            case StepKind::Attribute: {
                Value value = resolve(step);
                if (step.root != Root::Conditional && !step.is_test) charge(costs::Select);
                return value;
            }
            case StepKind::And:
                return logic(step, false);
            case StepKind::Or:
                return logic(step, true);
            case StepKind::Equal:
            case StepKind::NotEqual:
                return equality(step);
            case StepKind::Call:
                return step.accumulator >= 0 ? accumulate(step) : call(step);
            case StepKind::InSet: {
                const Value value = evaluate(*step.children[0]);
                return value.is_error() ? value : Value::boolean(step.set.find(value, work_) != nullptr);
            }
            case StepKind::List:
                return list(step);
            case StepKind::Map:
                return map(step);
            case StepKind::Object:
                return object(step);
            case StepKind::Loop:
                return loop(step);
            case StepKind::OptionalOr:
            case StepKind::OptionalOrValue: {
                Value left = evaluate(*step.children[0]);
                if (left.is_error()) return left;
                if (!left.is(Kind::Optional)) return Value::no_such_overload();
                if (!left.has_value()) return evaluate(*step.children[1]);
                return step.kind == StepKind::OptionalOr ? left : left.content();
            }
        }
        return {};
    }

    const Value* find_global(std::size_t index) {
        const Value*& found = globals_[index];
        if (!found) found = activation_.find(plan_.globals[index]);
        return found;
    }

    Value& local(std::size_t index) {
        Local& variable = locals_[index];
        if (variable.initial) {
            const Step* initial = std::exchange(variable.initial, nullptr);
            Value value = evaluate(*initial);
            locals_[index].value = std::move(value);
        }
        return locals_[index].value;
    }

    /// The value of an attribute, without its own cost.
    Value resolve(const Step& step) {
        Value value = root_value(step);
        if (step.qualifiers.empty() || value.is_error()) return value;
        return qualified(std::move(value), step);
    }

    Value root_value(const Step& step) {
        switch (step.root) {
            case Root::Global:
                if (const Value* found = find_global(step.variable)) return *found;
                return Value::error("no such attribute(s): " + plan_.globals[step.variable]);
            case Root::Local:
                return local(step.variable);
            case Root::Operand:
                return evaluate(*step.children[0]);
            case Root::Conditional:
                break;
        }
        const Value condition = evaluate(*step.children[0]);
        if (condition.is_error()) return condition;
        if (!condition.is(Kind::Bool)) return Value::no_such_overload();
        const Step& chosen = *step.children[condition.as_bool() ? 1 : 2];
        // An attribute in a branch is part of this one: reading it costs nothing more.
        return chosen.kind == StepKind::Attribute && !chosen.is_test ? resolve(chosen) : evaluate(chosen);
    }

    Value qualified(Value value, const Step& step) {
        bool is_optional = value.is(Kind::Optional);
        if (is_optional) {
            if (!value.has_value()) return step.is_test ? Value::boolean(false) : value;
            value = Value(value.content());
        }
        for (const Qualifier& qualifier : step.qualifiers) {
            is_optional = is_optional || qualifier.is_optional;
            Value key = qualifier.key;
            if (qualifier.index) {
                key = index_value(*qualifier.index);
                if (key.is_error()) {
                    if (!is_optional) charge(costs::Select);
                    return key;
                }
            }
            std::optional<Value> found;
            std::optional<Value> mistake = find(value, key, is_optional || qualifier.is_test, found);
            // What is absent and may be costs nothing.
            if (found || qualifier.is_test || !is_optional) charge(costs::Select);
            if (mistake) return *std::move(mistake);
            if (found && found->is(Kind::Bytes)) work_.read(found->as_text().size());  // a view decodes it each time
            if (qualifier.is_test) return Value::boolean(found.has_value());
            if (!found) return step.is_test ? Value::boolean(false) : Value::none();
            value = *std::move(found);
            if (value.is_error()) return value;
        }
        return is_optional ? Value::some(std::move(value)) : value;
    }

    /// An index that is an attribute is read as part of the one that it qualifies.
    Value index_value(const Step& index) { return index.kind == StepKind::Attribute && !index.is_test ? resolve(index) : evaluate(index); }

    /// Sets `found`. An error where the key cannot be there, or is not there although it must.
    std::optional<Value> find(const Value& value, const Value& key, bool may_be_absent, std::optional<Value>& found) {
        if (value.is(Kind::Map) || value.is(Kind::Object)) {
            found = value.find(key, work_);
            if (!found && !may_be_absent) return Value::error("no such key: " + key.to_string());
            return {};
        }
        if (value.is(Kind::List)) {
            std::size_t index = 0;
            if (std::optional<Value> mistake = list_index(key, index)) return mistake;
            if (index < value.count())
                found = value.item(index);
            else if (!may_be_absent)
                return Value::error("index out of bounds: " + key.to_string());
            return {};
        }
        if (may_be_absent) return {};
        return Value::error("no such key: " + key.to_string());
    }

    static std::optional<Value> list_index(const Value& key, std::size_t& index) {
        switch (key.kind()) {
            case Kind::Int:
                index = key.as_int() < 0 ? SIZE_MAX : static_cast<std::size_t>(key.as_int());
                return {};
            case Kind::Uint:
                index = key.as_uint();
                return {};
            case Kind::Double:
                if (std::floor(key.as_double()) != key.as_double() || std::abs(key.as_double()) > 9e15)
                    return Value::error("unsupported index value " + key.to_string() + " in list");
                index = key.as_double() < 0 ? SIZE_MAX : static_cast<std::size_t>(key.as_double());
                return {};
            default:
                return Value::error("unsupported index type '" + key.type()->name + "' in list");
        }
    }

    /// `&&` and `||`: a term that decides hides the errors of others, but not the end by the cost limit.
    Value logic(const Step& step, bool decides) {
        Value mistake;
        bool failed = false;
        for (const StepPtr& term : step.children) {
            Value value = evaluate(*term);
            if (is_cancelled()) return cancellation();
            if (value.is(Kind::Bool)) {
                if (value.as_bool() == decides) return value;
            } else if (!failed) {
                failed = true;
                mistake = value.is_error() ? std::move(value) : Value::no_such_overload();
            }
        }
        return failed ? mistake : Value::boolean(!decides);
    }

    Value equality(const Step& step) {
        const std::array<Value, 2> operands = {evaluate(*step.children[0]), evaluate(*step.children[1])};
        if (is_cancelled()) return cancellation();
        read_texts(operands);
        charge(call_cost(step.cost, operands, {}, work_));
        if (is_cancelled()) return cancellation();
        for (const Value& operand : operands) {
            if (operand.is_error()) return operand;
        }
        const bool equal = operands[0].equals(operands[1], work_);
        return Value::boolean(equal == (step.kind == StepKind::Equal));
    }

    /// Costs and functions count code points.
    void read_texts(std::span<const Value> values) {
        for (const Value& value : values) {
            if (value.is(Kind::String) || value.is(Kind::Bytes)) work_.read(value.as_text().size());
        }
    }

    Value call(const Step& step) {
        std::array<Value, 4> arguments;
        const std::size_t count = step.children.size();
        if (count > arguments.size()) return Value::no_such_overload();
        const Value* mistake = nullptr;
        for (std::size_t i = 0; i < count; ++i) {
            arguments[i] = evaluate(*step.children[i]);
            if (is_cancelled()) return cancellation();
            if (!arguments[i].is_error()) continue;
            if (step.function == operators::NotStrictlyFalse) continue;
            if (!mistake) mistake = &arguments[i];
            if (step.prepared && i == 0) return *mistake;  // upstream's call with a prepared pattern stops at once, and is not counted
            if (count <= 2) continue;
            // Upstream counts the call where every argument has been evaluated.
            if (i + 1 == count) charge(call_cost(step.cost, {arguments.data(), count}, *mistake, work_));
            return *mistake;
        }
        const std::span<const Value> given(arguments.data(), count);
        read_texts(given);
        // Before it is done, where possible: the cost may be the square of a list's size.
        const bool is_later = depends_on_result(step.cost);
        if (!is_later) charge(call_cost(step.cost, given, {}, work_));
        if (is_cancelled()) return cancellation();
        Value result = mistake ? *mistake : dispatch(step, given);
        if (is_later) charge(call_cost(step.cost, given, result, work_));
        return nested(std::move(result));
    }

    Value dispatch(const Step& step, std::span<const Value> arguments) {
        if (step.function == operators::NotStrictlyFalse) return Value::boolean(!arguments[0].is(Kind::Bool) || arguments[0].as_bool());
        if (step.prepared && arguments[0].is(Kind::String))
            return call_with_pattern(step.function, step.prepared->pattern, arguments, work_);
        for (const Overload* overload : step.overloads) {
            if (overload->run && overload->accepts(arguments)) return overload->run(arguments, work_);
        }
        return no_overload(step, arguments);
    }

    static Value no_overload(const Step& step, std::span<const Value> arguments) {
        // Operators say less than functions do.
        if (step.function.find('_') == 0 || step.function == operators::Not || step.function == operators::Negate ||
            step.function == operators::In)
            return Value::no_such_overload();
        std::string text = "no such overload: " + step.function + "(";
        for (const Value& argument : arguments) text += (&argument == arguments.data() ? "" : ", ") + argument.type()->name;
        return Value::error(text + ")");
    }

    /// `@result + [x]`, `cel.@mapInsert(@result, …)`: the accumulator is taken out of its place, so that nothing else refers to it.
    Value accumulate(const Step& step) {
        std::array<Value, 3> arguments;
        const std::size_t count = step.children.size();
        const std::size_t place = static_cast<std::size_t>(step.accumulator);
        const bool failed = local(place).is_error();
        charge(costs::Select);
        if (count > 2 && failed) return locals_[place].value;
        for (std::size_t i = 1; i < count; ++i) {
            arguments[i] = evaluate(*step.children[i]);
            if (is_cancelled()) return cancellation();
            if (arguments[i].is_error() && count > 2) {
                if (i + 1 == count) charge(1);
                return arguments[i];
            }
        }
        charge(1);
        if (failed) return locals_[place].value;
        if (arguments[1].is_error()) return arguments[1];
        Value accumulator = std::move(locals_[place].value);
        if (step.function == operators::Add) {
            if (!accumulator.is(Kind::List)) return Value::no_such_overload();
            return nested(Value::append(std::move(accumulator), arguments[1], work_));
        }
        if (!accumulator.is(Kind::Map)) return Value::no_such_overload();
        if (count == 3) return nested(Value::insert(std::move(accumulator), std::move(arguments[1]), std::move(arguments[2]), work_));
        if (!arguments[1].is(Kind::Map)) return Value::no_such_overload();  // of type dyn
        for (std::size_t i = 0; i < arguments[1].count() && !accumulator.is_error() && !is_cancelled(); ++i) {
            Value::Entry entry = arguments[1].entry(i);
            accumulator = Value::insert(std::move(accumulator), std::move(entry.first), std::move(entry.second), work_);
        }
        return nested(std::move(accumulator));
    }

    Value list(const Step& step) {
        std::vector<Value> items;
        items.reserve(step.children.size());
        for (std::size_t i = 0; i < step.children.size(); ++i) {
            Value item = evaluate(*step.children[i]);
            if (item.is_error()) return failed_constructor(costs::List, std::move(item));
            if (i < step.optional.size() && step.optional[i]) {
                if (!item.is(Kind::Optional))
                    return failed_constructor(
                        costs::List, Value::error("cannot initialize optional list element from non-optional value " + item.to_string()));
                if (!item.has_value()) continue;
                item = Value(item.content());
            }
            items.push_back(std::move(item));
        }
        charge(costs::List);
        work_.make(items.size() * sizeof(Value));
        return nested(Value::list(std::move(items)));
    }

    Value failed_constructor(std::uint64_t cost, Value mistake) {
        charge(cost);
        return mistake;
    }

    Value map(const Step& step) {
        std::vector<Value::Entry> entries;
        entries.reserve(step.children.size() / 2);
        for (std::size_t i = 0; i < step.children.size(); i += 2) {
            Value key = evaluate(*step.children[i]);
            if (key.is_error()) return failed_constructor(costs::Map, std::move(key));
            Value value = evaluate(*step.children[i + 1]);
            if (value.is_error()) return failed_constructor(costs::Map, std::move(value));
            if (i / 2 < step.optional.size() && step.optional[i / 2]) {
                if (!value.is(Kind::Optional)) {
                    return failed_constructor(costs::Map, Value::error("cannot initialize optional entry '" + key.to_string() +
                                                                       "' from non-optional value " + value.to_string()));
                }
                if (!value.has_value()) {
                    std::erase_if(entries, [&](const Value::Entry& entry) { return entry.first.equals(key, work_); });
                    continue;
                }
                value = Value(value.content());
            }
            entries.emplace_back(std::move(key), std::move(value));
        }
        charge(costs::Map);
        work_.make(entries.size() * sizeof(Value::Entry));
        return nested(Value::map(std::move(entries), work_));
    }

    Value object(const Step& step) {
        std::vector<std::pair<std::string, Value>> fields;
        for (std::size_t i = 0; i < step.children.size(); ++i) {
            Value value = evaluate(*step.children[i]);
            if (value.is_error()) return failed_constructor(costs::Object, std::move(value));
            if (i < step.optional.size() && step.optional[i]) {
                if (!value.is(Kind::Optional)) {
                    return failed_constructor(costs::Object, Value::error("cannot initialize optional entry '" + step.fields[i] +
                                                                          "' from non-optional value " + value.to_string()));
                }
                if (!value.has_value()) continue;
                value = Value(value.content());
            }
            fields.emplace_back(step.fields[i], std::move(value));
        }
        charge(costs::Object);
        work_.make(fields.size() * sizeof(fields[0]));
        return nested(Value::object(step.type, std::move(fields)));
    }

    Value loop(const Step& step) {
        const Value range = evaluate(*step.children[0]);
        if (range.is_error()) return range;
        if (!range.is(Kind::List) && !range.is(Kind::Map)) return Value::no_such_overload();
        const std::size_t first = step.first_local;
        locals_[first].value = {};
        locals_[first].initial = step.children[1].get();
        for (std::size_t i = 0, end = range.count(); i < end && !is_cancelled(); ++i) {
            set_variables(step, range, i);
            const Value condition = evaluate(*step.children[2]);
            if (condition.is(Kind::Bool) && !condition.as_bool()) break;
            Value next = evaluate(*step.children[3]);
            locals_[first].initial = nullptr;
            locals_[first].value = std::move(next);
        }
        Value result = evaluate(*step.children[4]);
        locals_[first] = {};
        return result;
    }

    void set_variables(const Step& step, const Value& range, std::size_t index) {
        const std::size_t first = step.first_local;
        if (range.is(Kind::List)) {
            locals_[first + (step.has_two ? 2 : 1)].value = range.item(index);
            if (step.has_two) locals_[first + 1].value = Value::integer(static_cast<std::int64_t>(index));
            return;
        }
        Value::Entry entry = range.entry(index);
        locals_[first + 1].value = std::move(entry.first);
        if (step.has_two) locals_[first + 2].value = std::move(entry.second);
    }

    const Plan& plan_;
    const Activation& activation_;
    const std::uint64_t cost_limit_;
    Work own_work_;
    Work& work_;
    std::uint64_t cost_ = 0;
    std::vector<const Value*> globals_;
    std::vector<Local> locals_;
};

}  // namespace

Activation& Activation::set(std::string name, Value value) {
    variables_.emplace_back(std::move(name), std::move(value));
    return *this;
}

const Value* Activation::find(std::string_view name) const {
    const auto found = std::ranges::find(variables_, name, &std::pair<std::string, Value>::first);
    return found == variables_.end() ? nullptr : &found->second;
}

Evaluation Program::evaluate(const Activation& activation, EvaluateOptions options) const {
    return Evaluator(*plan_, activation, options).run();
}

const TypeRef& Program::type() const { return plan_->type; }
bool Program::uses_variable(std::string_view name) const { return std::ranges::find(plan_->globals, name) != plan_->globals.end(); }
const std::string& Program::text() const { return plan_->text; }
std::size_t Program::depth() const { return plan_->depth; }

}  // namespace porthole::cel
