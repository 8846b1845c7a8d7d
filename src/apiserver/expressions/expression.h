#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cel/environment.h"

namespace porthole::apiserver {

/// Cost limits of evaluations, upstream's numbers, in the units of cel/checker/cost.h: about 50 ns each.
namespace expression_costs {
inline constexpr std::uint64_t Call = 1'000'000;             ///< one expression
inline constexpr std::uint64_t Policy = 10'000'000;          ///< all expressions of a policy with one binding and parameter
inline constexpr std::uint64_t MatchConditions = 2'500'000;  ///< all match conditions of one object
/// Bytes of lists, maps and strings that evaluations with one budget may create, including those already freed; and per unit, for small
/// budgets.
inline constexpr std::uint64_t MostBytes = std::uint64_t{128} << 20, BytesInUnit = 100;
/// Limits for compiling all expressions of one object: nodes and similarly expensive steps, some microseconds each; and the text of their
/// errors.
inline constexpr cel::Work::Limits Compilation = {.steps = 100'000, .bytes = std::uint64_t{1} << 20};
}  // namespace expression_costs

/// The dialect of this release, without variables.
const cel::Environment& expression_environment();

/// An expression of an object or a file: compiled, or why it does not compile. Immutable; copies share the program.
class Expression {
public:
    /// `results` are the allowed result types; empty: any. `work` is shared with the other expressions of the object.
    Expression(const cel::Environment& environment, std::string text, std::initializer_list<cel::TypeRef> results, cel::Work& work);
    /// For an object with only this expression.
    Expression(const cel::Environment& environment, std::string text, std::initializer_list<cel::TypeRef> results = {});

    const std::string& text() const { return program_ ? program_->text() : text_; }
    bool compiles() const { return program_.has_value(); }
    /// Upstream's message: "compilation failed: ERROR: <input>:1:1: ..." or "must evaluate to bool but got string"; "" if it compiles.
    const std::string& problem() const { return problem_; }
    /// Requires: compiles().
    const cel::Program& program() const { return *program_; }
    /// The type that the checker found; dyn where it does not compile.
    cel::TypeRef type() const { return program_ ? program_->type() : cel::types::dyn(); }

private:
    std::string text_, problem_;  ///< of one that does not compile
    std::optional<cel::Program> program_;
};

/// The remaining budget of a series of evaluations. Work that CEL's cost does not count is limited in proportion to it (see cel::Work);
/// exceeding that limit uses up the budget.
struct CostBudget {
    std::uint64_t left = expression_costs::Policy;
    /// The cost of variables evaluated by the evaluation in progress; deducted when it ends.
    std::uint64_t owed = 0;
    /// An evaluation needed more than was left: nothing further is evaluated.
    bool is_spent = false;
    std::optional<cel::Work> counted = {};  ///< by work()

    /// How much one evaluation may cost now.
    std::uint64_t limit() const;
    /// The work of all evaluations, including nested ones. Its limits are set on first use, from what is left then.
    cel::Work& work();
};

/// "validation failed due to running out of cost budget, no further validation rules will be run".
extern const std::string OutOfBudget;

/// How an evaluation ended.
struct ExpressionResult {
    cel::Value value;
    std::string error;  ///< upstream's message; "" if there is a value
    bool fails_to_compile = false;
};

/// Evaluates the only expression of an object, at expression_costs::Call.
ExpressionResult evaluate(const Expression& expression, const cel::Activation& activation);

/// Evaluates the expression and charges the budget. The result can be traversed within the budget's work. nullopt: the budget is used up.
/// Requires: it was not used up before.
std::optional<ExpressionResult> evaluate(const Expression& expression, const cel::Activation& activation, CostBudget& budget);

}  // namespace porthole::apiserver
