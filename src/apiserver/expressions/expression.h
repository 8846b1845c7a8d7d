#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cel/environment.h"

namespace porthole::apiserver {

/// What evaluations may cost, with upstream's numbers, in the units of cel/checker/cost.h: about 50 ns each.
namespace expression_costs {
inline constexpr std::uint64_t Call = 1'000'000;             ///< one expression
inline constexpr std::uint64_t Policy = 10'000'000;          ///< all expressions of a policy with one binding and parameter
inline constexpr std::uint64_t MatchConditions = 2'500'000;  ///< all match conditions of one object
}  // namespace expression_costs

/// The dialect of this release, without variables.
const cel::Environment& expression_environment();

/// An expression of an object or a file: compiled, or why it does not compile. Immutable; copies share the program.
class Expression {
public:
    /// `results` are the types that it may have; none: any.
    Expression(const cel::Environment& environment, std::string text, std::initializer_list<cel::TypeRef> results = {});

    /// From now on it does not compile if it uses the variable other than by naming a field of it.
    void refuse_whole(const std::string& variable);

    const std::string& text() const { return text_; }
    bool compiles() const { return program_.has_value(); }
    /// In upstream's words: "compilation failed: ERROR: <input>:1:1: ..." or "must evaluate to bool but got string"; "" where it compiles.
    const std::string& problem() const { return problem_; }
    /// Requires: compiles().
    const cel::Program& program() const { return *program_; }
    /// The type that the checker found; dyn where it does not compile.
    cel::TypeRef type() const { return program_ ? program_->type() : cel::types::dyn(); }

private:
    std::string text_, problem_;
    std::optional<cel::Program> program_;
};

/// What is left for a series of evaluations.
struct CostBudget {
    std::uint64_t left = expression_costs::Policy;
    /// What variables have cost that the evaluation in progress has made; paid when it ends.
    std::uint64_t owed = 0;
    /// An evaluation wanted more than there was: nothing further is evaluated.
    bool is_spent = false;

    /// How much one evaluation may cost now.
    std::uint64_t limit() const;
};

/// "validation failed due to running out of cost budget, no further validation rules will be run".
extern const std::string OutOfBudget;

/// How an evaluation ended.
struct ExpressionResult {
    cel::Value value;
    std::string error;  ///< in upstream's words; "" where there is a value
    bool fails_to_compile = false;
};

/// How an evaluation within a limit ended.
struct BoundedEvaluation {
    cel::Value value;
    std::uint64_t cost = 0;  ///< more than the limit where that has ended it
};
/// Evaluates at a cost of at most `limit`, in which comparisons count by what they look at. Requires: it compiles.
BoundedEvaluation evaluate_within(std::uint64_t limit, const Expression& expression, const cel::Activation& activation);

/// Evaluates and pays. nullopt: the budget is spent. Requires: it was not spent before.
std::optional<ExpressionResult> evaluate(const Expression& expression, const cel::Activation& activation, CostBudget& budget);

}  // namespace porthole::apiserver
