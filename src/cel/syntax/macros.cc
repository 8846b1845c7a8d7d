#include "cel/syntax/macros.h"

#include <algorithm>

namespace porthole::cel::macros {
namespace {

using Arguments = std::vector<ExpressionPtr>;

constexpr const char* Unused = "#unused";

bool overwrites_accumulator(const std::string& name) { return name == Accumulator || name == "__result__"; }

/// The name of a loop's variable, or "" with an issue.
std::string variable(NodeMaker& make, const Expression& argument, const char* mistake) {
    if (!argument.is(ExpressionKind::Identifier)) {
        make.fail(argument.location, mistake);
        return {};
    }
    if (overwrites_accumulator(argument.name)) {
        make.fail(argument.location, "iteration variable overwrites accumulator variable");
        return {};
    }
    return argument.name;
}

ExpressionPtr boolean(NodeMaker& make, bool value) { return make.literal(Value::boolean(value)); }

/// The parts that all loops of a kind share; `first` and `second` are the variables.
struct Loop {
    std::string first, second;
    ExpressionPtr range;

    ExpressionPtr over(NodeMaker& make, ExpressionPtr initial, ExpressionPtr condition, ExpressionPtr step,
                       ExpressionPtr result = nullptr) {
        if (!result) result = make.accumulator();
        return make.loop({std::move(first), std::move(second), std::string(Accumulator), std::move(range), std::move(initial),
                          std::move(condition), std::move(step), std::move(result)});
    }
    ExpressionPtr all(NodeMaker& make, ExpressionPtr predicate) {
        return over(make, boolean(make, true), make.call(operators::NotStrictlyFalse, make.accumulator()),
                    make.call(operators::And, make.accumulator(), std::move(predicate)));
    }
    ExpressionPtr exists(NodeMaker& make, ExpressionPtr predicate) {
        return over(make, boolean(make, false), make.call(operators::NotStrictlyFalse, make.call(operators::Not, make.accumulator())),
                    make.call(operators::Or, make.accumulator(), std::move(predicate)));
    }
    ExpressionPtr exists_one(NodeMaker& make, ExpressionPtr predicate) {
        ExpressionPtr next = make.call(operators::Add, make.accumulator(), make.literal(Value::integer(1)));
        return over(make, make.literal(Value::integer(0)), boolean(make, true),
                    make.call(operators::Conditional, std::move(predicate), std::move(next), make.accumulator()),
                    make.call(operators::Equals, make.accumulator(), make.literal(Value::integer(1))));
    }
    /// `step` where `filter` holds; nullptr for always.
    ExpressionPtr collect(NodeMaker& make, ExpressionPtr initial, ExpressionPtr filter, ExpressionPtr step) {
        if (filter) step = make.call(operators::Conditional, std::move(filter), std::move(step), make.accumulator());
        return over(make, std::move(initial), boolean(make, true), std::move(step));
    }
};

ExpressionPtr has(NodeMaker& make, ExpressionPtr, Arguments arguments) {
    Expression& argument = *arguments[0];
    if (!argument.is(ExpressionKind::Select) || argument.is_test) return make.fail(argument.location, "invalid argument to has() macro");
    return make.test(std::move(argument.target), std::move(argument.name));
}

template <ExpressionPtr (Loop::*Make)(NodeMaker&, ExpressionPtr)>
ExpressionPtr quantifier(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    std::string name = variable(make, *arguments[0], "argument must be a simple name");
    if (name.empty()) return nullptr;
    Loop loop{std::move(name), "", std::move(target)};
    return (loop.*Make)(make, std::move(arguments[1]));
}

ExpressionPtr appended(NodeMaker& make, ExpressionPtr item) {
    return make.call(operators::Add, make.accumulator(), make.list(std::move(item)));
}

ExpressionPtr map(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    std::string name = variable(make, *arguments[0], "argument is not an identifier");
    if (name.empty()) return nullptr;
    ExpressionPtr filter = arguments.size() == 3 ? std::move(arguments[1]) : nullptr;
    Loop loop{std::move(name), "", std::move(target)};
    return loop.collect(make, make.list(), std::move(filter), appended(make, std::move(arguments.back())));
}

ExpressionPtr filter(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    std::string name = variable(make, *arguments[0], "argument is not an identifier");
    if (name.empty()) return nullptr;
    Loop loop{std::move(name), "", std::move(target)};
    return loop.collect(make, make.list(), std::move(arguments[1]), appended(make, std::move(arguments[0])));
}

/// A loop that never turns: it only gives `value` a name.
ExpressionPtr bound(NodeMaker& make, std::string name, ExpressionPtr value, ExpressionPtr result) {
    ExpressionPtr step = make.identifier(name);
    return make.loop(
        {Unused, "", std::move(name), make.list(), std::move(value), boolean(make, false), std::move(step), std::move(result)});
}

ExpressionPtr optional_map(NodeMaker& make, ExpressionPtr target, Arguments arguments, bool flat) {
    if (!arguments[0]->is(ExpressionKind::Identifier)) {
        return make.fail(arguments[0]->location,
                         std::string(flat ? "optFlatMap" : "optMap") + "() variable name must be a simple identifier");
    }
    ExpressionPtr value = make.member_call("value", make.copy(*target));
    ExpressionPtr result = bound(make, arguments[0]->name, std::move(value), std::move(arguments[1]));
    if (!flat) result = make.call("optional.of", std::move(result));
    return make.call(operators::Conditional, make.member_call("hasValue", std::move(target)), std::move(result),
                     make.call("optional.none"));
}
ExpressionPtr opt_map(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    return optional_map(make, std::move(target), std::move(arguments), false);
}
ExpressionPtr opt_flat_map(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    return optional_map(make, std::move(target), std::move(arguments), true);
}

/// False with an issue where the first two arguments are not two names.
bool two_variables(NodeMaker& make, const Arguments& arguments, Loop& loop) {
    for (int i = 0; i < 2; ++i) {
        if (!arguments[i]->is(ExpressionKind::Identifier)) {
            make.fail(arguments[i]->location, "argument must be a simple name");
            return false;
        }
    }
    if (arguments[0]->name == arguments[1]->name) {
        make.fail(arguments[1]->location, "duplicate variable name: " + arguments[0]->name);
        return false;
    }
    for (int i = 0; i < 2; ++i) {
        if (!overwrites_accumulator(arguments[i]->name)) continue;
        make.fail(arguments[i]->location, "iteration variable overwrites accumulator variable");
        return false;
    }
    loop.first = arguments[0]->name;
    loop.second = arguments[1]->name;
    return true;
}

template <ExpressionPtr (Loop::*Make)(NodeMaker&, ExpressionPtr)>
ExpressionPtr quantifier2(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    Loop loop{"", "", std::move(target)};
    if (!two_variables(make, arguments, loop)) return nullptr;
    return (loop.*Make)(make, std::move(arguments[2]));
}

enum class Transform { List, Map, MapEntry };

template <Transform To>
ExpressionPtr transform(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    Loop loop{"", "", std::move(target)};
    if (!two_variables(make, arguments, loop)) return nullptr;
    ExpressionPtr filter = arguments.size() == 4 ? std::move(arguments[2]) : nullptr;
    ExpressionPtr item = std::move(arguments.back());
    if constexpr (To == Transform::List) return loop.collect(make, make.list(), std::move(filter), appended(make, std::move(item)));
    ExpressionPtr step = To == Transform::Map
                             ? make.call(operators::MapInsert, make.accumulator(), make.identifier(loop.first), std::move(item))
                             : make.call(operators::MapInsert, make.accumulator(), std::move(item));
    return loop.collect(make, make.empty_map(), std::move(filter), std::move(step));
}

ExpressionPtr sort_by(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    constexpr const char* Input = "@__sortBy_input__";
    if (target->is(ExpressionKind::Literal) || target->is(ExpressionKind::Map) || target->is(ExpressionKind::Object)) {
        return make.fail(target->location, "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
    }
    ExpressionPtr keys = map(make, make.identifier(Input), std::move(arguments));
    if (!keys) return nullptr;
    ExpressionPtr sorted = make.member_call("@sortByAssociatedKeys", make.identifier(Input));
    NodeMaker::add(*sorted, std::move(keys));
    return bound(make, Input, std::move(target), std::move(sorted));
}

/// A member call whose target only looks like one: `math.least(…)` is a function of the namespace math.
ExpressionPtr plain_call(NodeMaker& make, ExpressionPtr target, const char* function, Arguments arguments) {
    ExpressionPtr call = make.member_call(function, std::move(target));
    for (ExpressionPtr& argument : arguments) NodeMaker::add(*call, std::move(argument));
    return call;
}

bool is_never_number(const Expression& argument) {
    switch (argument.kind) {
        case ExpressionKind::Literal:
            return !argument.literal.is_numeric();
        case ExpressionKind::List:
        case ExpressionKind::Map:
        case ExpressionKind::Object:
            return true;
        default:
            return false;
    }
}

ExpressionPtr extreme(NodeMaker& make, ExpressionPtr target, Arguments arguments, const char* name, const char* function) {
    if (!target->is(ExpressionKind::Identifier) || target->name != "math")
        return plain_call(make, std::move(target), name, std::move(arguments));
    const std::string prefix = std::string("math.") + name + "() ";
    if (arguments.empty()) return make.fail(target->location, prefix + "requires at least one argument");
    if (arguments.size() == 1) {
        Expression& argument = *arguments[0];
        if (argument.is(ExpressionKind::List) && !argument.arguments.empty()) {
            if (std::ranges::any_of(argument.arguments, [](const ExpressionPtr& item) { return is_never_number(*item); }))
                return make.fail(argument.location, prefix + "invalid single argument value");
        } else if (is_never_number(argument)) {
            return make.fail(argument.location, prefix + "invalid single argument value");
        }
        return make.call(function, std::move(arguments[0]));
    }
    for (const ExpressionPtr& argument : arguments) {
        if (is_never_number(*argument)) return make.fail(argument->location, prefix + "simple literal arguments must be numeric");
    }
    if (arguments.size() == 2) return make.call(function, std::move(arguments[0]), std::move(arguments[1]));
    ExpressionPtr list = make.list();
    for (ExpressionPtr& argument : arguments) NodeMaker::add(*list, std::move(argument));
    return make.call(function, std::move(list));
}
ExpressionPtr least(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    return extreme(make, std::move(target), std::move(arguments), "least", "math.@min");
}
ExpressionPtr greatest(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    return extreme(make, std::move(target), std::move(arguments), "greatest", "math.@max");
}

ExpressionPtr cel_bind(NodeMaker& make, ExpressionPtr target, Arguments arguments) {
    if (!target->is(ExpressionKind::Identifier) || target->name != "cel")
        return plain_call(make, std::move(target), "bind", std::move(arguments));
    if (!arguments[0]->is(ExpressionKind::Identifier))
        return make.fail(arguments[0]->location, "cel.bind() variable names must be simple identifiers");
    return bound(make, arguments[0]->name, std::move(arguments[1]), std::move(arguments[2]));
}

constexpr Macro Standard[] = {
    {"has", 1, false, has},
    {"all", 2, true, quantifier<&Loop::all>},
    {"exists", 2, true, quantifier<&Loop::exists>},
    {"exists_one", 2, true, quantifier<&Loop::exists_one>},
    {"map", 2, true, map},
    {"map", 3, true, map},
    {"filter", 2, true, filter},
};
constexpr Macro Optionals[] = {{"optMap", 2, true, opt_map}, {"optFlatMap", 2, true, opt_flat_map}};
constexpr Macro TwoVariable[] = {
    {"all", 3, true, quantifier2<&Loop::all>},
    {"exists", 3, true, quantifier2<&Loop::exists>},
    {"existsOne", 3, true, quantifier2<&Loop::exists_one>},
    {"exists_one", 3, true, quantifier2<&Loop::exists_one>},
    {"transformList", 3, true, transform<Transform::List>},
    {"transformList", 4, true, transform<Transform::List>},
    {"transformMap", 3, true, transform<Transform::Map>},
    {"transformMap", 4, true, transform<Transform::Map>},
    {"transformMapEntry", 3, true, transform<Transform::MapEntry>},
    {"transformMapEntry", 4, true, transform<Transform::MapEntry>},
};
constexpr Macro Lists[] = {{"sortBy", 2, true, sort_by}};
constexpr Macro Math[] = {{"least", -1, true, least}, {"greatest", -1, true, greatest}};
constexpr Macro Bindings[] = {{"bind", 3, true, cel_bind}};

}  // namespace

std::span<const Macro> standard() { return Standard; }
std::span<const Macro> optionals() { return Optionals; }
std::span<const Macro> two_variable() { return TwoVariable; }
std::span<const Macro> lists() { return Lists; }
std::span<const Macro> math() { return Math; }
std::span<const Macro> bindings() { return Bindings; }

}  // namespace porthole::cel::macros
