#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cel/syntax/issues.h"
#include "cel/values/value.h"

namespace porthole::cel {

struct Expression;
struct Overload;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : std::uint8_t { Literal, Identifier, Select, Call, List, Map, Object, Comprehension };

/// A loop over a list or map, which macros expand to: the accumulator `accumulator` starts as `initial`, and becomes `step` for each
/// element while `condition` is true; `result` is the value of the whole.
struct Comprehension {
    std::string variable, second_variable;  ///< the second is "" if there is one only
    std::string accumulator;
    ExpressionPtr range, initial, condition, step, result;
};

/// A node of the tree. The checker writes its findings into it.
struct Expression {
    ExpressionKind kind = ExpressionKind::Literal;
    Location location;
    std::size_t depth = 1;  ///< of the tree below

    Value literal;
    std::string name;                       ///< of an identifier, field, function or object type
    ExpressionPtr target;                   ///< of a selection or of a member function's call
    bool is_test = false;                   ///< a selection that tests for the field's presence: has(a.b)
    std::vector<ExpressionPtr> arguments;   ///< of a call; items of a list; values of a map or object
    std::vector<ExpressionPtr> keys;        ///< of a map
    std::vector<std::string> fields;        ///< of an object
    std::vector<Location> entry_locations;  ///< of a map's or object's entries
    std::vector<bool> optional;             ///< which items or entries are left out where their optional is empty; empty for none
    std::unique_ptr<Comprehension> loop;

    // By the checker.
    TypeRef type;
    std::vector<const Overload*> overloads;
    bool is_variable = false;  ///< an identifier, or a selection that is a qualified name: `name` is the full name

    bool is(ExpressionKind other) const { return kind == other; }
    bool is_call(std::string_view function) const { return kind == ExpressionKind::Call && name == function; }
    bool is_optional(std::size_t index) const { return index < optional.size() && optional[index]; }
};

/// The hidden accumulator of macros: not a name that an expression can write.
inline constexpr std::string_view Accumulator = "@result";

/// Names of functions behind operators.
namespace operators {
inline constexpr const char *And = "_&&_", *Or = "_||_", *Not = "!_", *Conditional = "_?_:_", *Equals = "_==_", *NotEquals = "_!=_",
                            *Less = "_<_", *LessEquals = "_<=_", *Greater = "_>_", *GreaterEquals = "_>=_", *In = "@in", *Add = "_+_",
                            *Subtract = "_-_", *Multiply = "_*_", *Divide = "_/_", *Modulo = "_%_", *Negate = "-_", *Index = "_[_]",
                            *OptionalIndex = "_[?_]", *OptionalSelect = "_?._", *NotStrictlyFalse = "@not_strictly_false",
                            *MapInsert = "cel.@mapInsert";
}  // namespace operators

}  // namespace porthole::cel
