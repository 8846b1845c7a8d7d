#pragma once
#include <functional>

#include "apiserver/admission/plugins.h"
#include "apiserver/authorization/expression_authorizer.h"
#include "apiserver/expressions/match_conditions.h"

namespace porthole::apiserver {

/// Evaluates the expressions of one request in one run of a plugin, for which it lives. What is cheap runs at once, on the loop; what is
/// not, in the worker pool, so that a costly policy delays its own requests only. What the authorizer has decided is known to all of them.
class AdmissionEvaluation {
public:
    /// Both outlive it.
    AdmissionEvaluation(const AdmissionDependencies& given, const AdmissionAttributes& attributes);

    /// What one attempt may use, and what it says of itself.
    struct Attempt {
        const cel::AuthorizationSource& authorizer;
        std::uint64_t room;      ///< for all budgets
        std::uint64_t cost = 0;  ///< of all evaluations
        bool was_cut = false;    ///< a budget of less than its right size was spent

        /// A budget of `right_size`, or what there is room for. One at a time.
        CostBudget budget(std::uint64_t right_size) const { return {.left = std::min(right_size, room - cost)}; }
        /// At the end of the use of budget(right_size).
        void paid(const CostBudget& used, std::uint64_t right_size);
    };
    /// Calls `work` until it was neither cut nor had to guess what the authorizer decides. It starts from the beginning every time, and
    /// touches nothing that the loop changes. Its last attempt may be cut when the request has used up what all its expressions may cost.
    /// Error: InternalError when the authorizer's decisions lead to ever more questions.
    Task<> run(std::function<void(Attempt&)> work);

    /// Whose match conditions they are.
    struct ConditionsOwner {
        std::string name;
        const char* kind;  ///< "webhook" or "policy"
        const char* type;  ///< "admit", "validating" or "validate"
        bool fails_open;
    };
    /// Whether the request meets the conditions, which may use `variables`. Failed only where the owner does not fail open: one that does
    /// is Excluded. Counted. `input` needs no authorizer. Errors: those of run().
    Task<MatchConditions::Outcome> meet(const MatchConditions& conditions, const NamedExpressions& variables, AdmissionInput input,
                                        ConditionsOwner owner);

private:
    const AdmissionDependencies& given_;
    const AdmissionAttributes& attributes_;
    ExpressionAuthorizer decisions_;
    std::uint64_t cheap_left_, left_;  ///< of what may run on the loop, and of all
};

}  // namespace porthole::apiserver
