#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cel/checker/declarations.h"
#include "cel/program.h"
#include "cel/runtime_cost.h"
#include "cel/syntax/expression.h"

namespace porthole::cel {

struct Step;
using StepPtr = std::unique_ptr<const Step>;

enum class StepKind : std::uint8_t {
    Constant,
    Attribute,
    And,
    Or,
    Equal,
    NotEqual,
    Call,
    InSet,
    List,
    Map,
    Object,
    Loop,
    OptionalOr,
    OptionalOrValue
};

/// Where an attribute begins.
enum class Root : std::uint8_t { Global, Local, Operand, Conditional };

/// A selection or index behind an attribute's root.
struct Qualifier {
    Value key;      ///< if known at compile time
    StepPtr index;  ///< where it is not
    bool is_optional = false;
    bool is_test = false;  ///< only tests for presence
};

/// A node of the plan: an expression with everything resolved that does not depend on variables' values.
struct Step {
    StepKind kind = StepKind::Constant;
    Value constant;
    std::vector<StepPtr> children;  ///< operands, items, or values; a map's keys and values alternate; a conditional's three parts
    std::vector<bool> optional;     ///< which items or entries are left out where they are optional.none()

    // Attribute.
    Root root = Root::Global;
    std::size_t variable = 0;  ///< of globals or locals
    std::vector<Qualifier> qualifiers;
    bool is_test = false;

    // Call.
    std::string function;
    std::vector<const Overload*> overloads;
    CostRule cost = CostRule::One;
    /// The first operand is this local's value, which the result replaces, so it may be changed in place.
    std::ptrdiff_t accumulator = -1;
    std::unique_ptr<const PreparedCall> prepared;

    // InSet.
    ValueIndex set;

    // Object.
    TypeRef type;
    std::vector<std::string> fields;

    // Loop: children are range, initial, condition, step, result.
    std::size_t first_local = 0;  ///< the accumulator, and then one or two variables
    bool has_two = false;
};

/// A program's plan.
struct Plan {
    std::string text;
    TypeRef type;
    StepPtr root;
    std::vector<std::string> globals;  ///< the variables that it reads
    std::size_t locals = 0;
    // Of the expression's tree, which is larger than the plan and not kept.
    std::size_t depth = 0;
    CostRange estimate;
    std::set<std::string, std::less<>> selections;  ///< variables' fields that it names: "claims.email"
    std::shared_ptr<const void> environment;
};

/// The variables' fields that the checked expression names, as `claims.email` does.
void find_selections(const Expression& node, std::set<std::string, std::less<>>& found);

/// Resolves names and constants of the checked expression. Issues: a constant conversion or pattern that fails.
StepPtr make_plan(const Expression& expression, const Declarations& declarations, Plan& plan, Issues& issues, Work& work);

}  // namespace porthole::cel
