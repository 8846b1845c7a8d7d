#pragma once
#include <string>
#include <vector>

#include "apiserver/expressions/admission_expressions.h"

namespace porthole::apiserver {

/// Compiled match conditions of a webhook or policy: all must be true of a request. Immutable.
class MatchConditions {
public:
    struct Condition {
        std::string name;
        Expression expression;
    };
    struct Outcome {
        enum class Kind { Matches, Excluded, Failed };
        Kind kind = Kind::Matches;
        std::string error;       ///< of Failed, with upstream's message
        std::size_t errors = 0;  ///< how many conditions failed
    };

    bool empty() const { return conditions_.empty(); }
    void add(Condition condition) { conditions_.push_back(std::move(condition)); }
    /// If one is false, the request is excluded, whatever the others are; otherwise a failure of one is the result.
    Outcome evaluate(const cel::Activation& activation, CostBudget& budget) const;

private:
    std::vector<Condition> conditions_;
};

/// With T an API's MatchCondition.
template <class T>
MatchConditions compile_match_conditions(const AdmissionCompiler& compiler, const std::vector<T>& conditions, AdmissionNames names = {}) {
    MatchConditions compiled;
    for (const T& one : conditions)
        compiled.add({.name = one.name, .expression = compiler.compile(one.expression, names, {cel::types::boolean()})});
    return compiled;
}

}  // namespace porthole::apiserver
