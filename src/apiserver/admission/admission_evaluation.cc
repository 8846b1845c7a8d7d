#include "apiserver/admission/admission_evaluation.h"

#include "apiserver/admission/webhook_rules.h"

namespace porthole::apiserver {
namespace {

/// What one attempt, and all attempts of one run of a plugin, may cost on the loop: about a millisecond, and five.
constexpr std::uint64_t CheapAttempt = 20'000, CheapRun = 100'000;
/// What all expressions of a request may cost in one run of a plugin, wherever they are evaluated: ten policies in full, about five
/// seconds. Upstream has no such bound; but users make objects that are parameters of policies, each of which has a budget of its own.
constexpr std::uint64_t MostOfRun = 10 * expression_costs::Policy;
/// The decisions on which an expression's further questions depend, one after the other. A check costs 350,000 units, so that the largest
/// budget has 28 of them: never reached.
constexpr int MostAttempts = 64;

}  // namespace

AdmissionEvaluation::AdmissionEvaluation(const AdmissionDependencies& given, const AdmissionAttributes& attributes)
    : given_(given), attributes_(attributes), decisions_(given.authorizer, attributes.user), cheap_left_(CheapRun), left_(MostOfRun) {}

void AdmissionEvaluation::Attempt::paid(const CostBudget& used, std::uint64_t right_size) {
    const CostBudget given = budget(right_size);
    // What takes more steps than it costs counts by its steps.
    const std::uint64_t work = used.counted ? used.counted->steps() / cel::EvaluateOptions::WorkInUnit : 0;
    cost += std::min(given.left, std::max(given.left - used.left, work));
    was_cut = was_cut || (used.is_spent && given.left < right_size);
}

Task<> AdmissionEvaluation::run(std::function<void(Attempt&)> work) {
    bool is_cheap = true;
    for (int attempts = 0; attempts < MostAttempts; ++attempts) {
        is_cheap = is_cheap && cheap_left_ > 0;
        Attempt attempt{.authorizer = decisions_, .room = left_};
        if (!given_.pool) {
            work(attempt);
        } else if (is_cheap) {
            attempt.room = std::min({CheapAttempt, cheap_left_, left_});
            work(attempt);
            cheap_left_ -= attempt.cost;
            if (attempt.was_cut) {
                is_cheap = false;
                continue;
            }
        } else {
            CO_TRY_VOID(co_await run_blocking<void>(*given_.pool, [&]() -> Result<void> {
                work(attempt);
                return {};
            }));
        }
        if (!decisions_.are_open()) {
            left_ -= attempt.cost;
            co_return {};
        }
        CO_TRY_VOID(co_await decisions_.decide());
    }
    co_return Error(Reason::InternalError, "Internal error occurred: expressions ask the authorizer too many questions");
}

Task<MatchConditions::Outcome> AdmissionEvaluation::meet(const MatchConditions& conditions, const NamedExpressions& variables,
                                                         AdmissionInput input, ConditionsOwner owner) {
    using Kind = MatchConditions::Outcome::Kind;
    MatchConditions::Outcome outcome;
    if (conditions.empty()) co_return outcome;
    const MonotonicTime begun = given_.loop.now();
    CO_TRY_VOID(co_await run([&](Attempt& attempt) {
        input.authorizer = &attempt.authorizer;
        CostBudget budget = attempt.budget(expression_costs::MatchConditions);
        const AdmissionScope scope(input, variables, budget);
        outcome = conditions.evaluate(scope.activation(), budget);
        attempt.paid(budget, expression_costs::MatchConditions);
    }));
    if (outcome.kind == Kind::Failed && owner.fails_open) outcome.kind = Kind::Excluded;
    if (given_.condition_metrics) {
        given_.condition_metrics->add({.name = std::move(owner.name),
                                       .kind = owner.kind,
                                       .type = owner.type,
                                       .operation = std::string(operation_name(attributes_.operation)),
                                       .taken = given_.loop.now() - begun,
                                       .errors = outcome.errors,
                                       .excluded = outcome.kind == Kind::Excluded});
    }
    co_return outcome;
}

}  // namespace porthole::apiserver
