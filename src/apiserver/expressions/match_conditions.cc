#include "apiserver/expressions/match_conditions.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::apiserver {

MatchConditions::Outcome MatchConditions::evaluate(const cel::Activation& activation, CostBudget& budget) const {
    std::vector<std::string> errors;
    std::size_t count = 0;
    for (const Condition& condition : conditions_) {
        const auto result = apiserver::evaluate(condition.expression, activation, budget);
        if (!result) return {.kind = Outcome::Kind::Failed, .error = OutOfBudget};
        if (result->error.empty() && result->value.is(cel::Kind::Bool) && !result->value.as_bool())
            return {.kind = Outcome::Kind::Excluded, .errors = count};
        if (result->error.empty()) continue;
        ++count;
        if (std::ranges::find(errors, result->error) == errors.end()) errors.push_back(result->error);
    }
    if (errors.empty()) return {};
    return {.kind = Outcome::Kind::Failed, .error = errors.size() == 1 ? errors[0] : "[" + join(errors, ", ") + "]", .errors = count};
}

}  // namespace porthole::apiserver
