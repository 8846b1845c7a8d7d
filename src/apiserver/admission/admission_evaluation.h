#pragma once
#include <functional>

#include "apiserver/admission/plugins.h"
#include "apiserver/authorization/expression_authorizer.h"
#include "apiserver/expressions/match_conditions.h"

namespace porthole::apiserver {

/// Evaluates the expressions of one request in one run of a plugin. Cheap expressions run immediately, on the loop; others in the worker
/// pool, so that a costly policy delays only its own requests. All expressions share the authorizer's decisions.
class AdmissionEvaluation {
public:
    /// Both outlive it.
    AdmissionEvaluation(const AdmissionDependencies& given, const AdmissionAttributes& attributes);

    /// The resources of one attempt, and its result.
    struct Attempt {
        const cel::AuthorizationSource& authorizer;
        std::uint64_t room;      ///< for all budgets
        std::uint64_t cost = 0;  ///< of all evaluations
        bool was_cut = false;    ///< a budget of less than its right size was spent

        /// A budget of `right_size`, or less if the attempt has less left. One at a time.
        CostBudget budget(std::uint64_t right_size) const { return {.left = std::min(right_size, room - cost)}; }
        /// At the end of the use of budget(right_size).
        void paid(const CostBudget& used, std::uint64_t right_size);
    };
    /// Calls `work` until it was not cut off and all decisions of the authorizer that it needed were known. It starts from the beginning
    /// every time, and uses nothing that the loop changes. Its last attempt may be cut off if the request has used up the cost limit of all
    /// its expressions. Error: InternalError if the authorizer's decisions lead to ever more questions.
    Task<> run(std::function<void(Attempt&)> work);

    /// The owner of match conditions.
    struct ConditionsOwner {
        std::string name;
        const char* kind;  ///< "webhook" or "policy"
        const char* type;  ///< "admit", "validating" or "validate"
        bool fails_open;
    };
    /// Whether the request meets the conditions, which may use `variables`. Failed only if the owner does not fail open; otherwise
    /// Excluded. Counted in the metrics. `input` needs no authorizer. Errors: those of run().
    Task<MatchConditions::Outcome> meet(const MatchConditions& conditions, const NamedExpressions& variables, AdmissionInput input,
                                        ConditionsOwner owner);

private:
    const AdmissionDependencies& given_;
    const AdmissionAttributes& attributes_;
    ExpressionAuthorizer decisions_;
    std::uint64_t cheap_left_, left_;  ///< cost that may still run on the loop, and in total
};

}  // namespace porthole::apiserver
