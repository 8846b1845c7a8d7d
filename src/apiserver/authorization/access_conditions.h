#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apiserver/expressions/expression.h"
#include "base/metrics_text.h"
#include "base/result.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The match conditions of an authorization webhook: it is asked only if every condition holds. Conditions are expressions over `request`,
/// the spec of a v1 SubjectAccessReview. Copies share the compiled programs.
///
/// Differs from Kubernetes: an evaluation that costs more than a million units fails. Upstream has no limit.
class AccessConditions {
public:
    /// Error: BadRequest with upstream's message: "compilation failed: ...", "must evaluate to bool but got int".
    Result<void> add(const std::string& expression);
    bool empty() const { return expressions_.empty(); }
    /// Whether all hold. If one does not hold, the result is false even if others fail. Error: InternalError with all failures.
    Result<bool> match(const schema::Value& request) const;

private:
    std::vector<Expression> expressions_;
};

/// Counts of match conditions under upstream's names, by the authorizer's name, which is a DNS name.
class AccessConditionMetrics {
public:
    void add(const std::string& authorizer, Duration taken, const Result<bool>& outcome);
    void append(std::string& out) const;

private:
    struct Counts {
        MetricHistogram times;
        std::uint64_t errors = 0, exclusions = 0;
    };
    std::map<std::string, Counts> authorizers_;
};

}  // namespace porthole::apiserver
