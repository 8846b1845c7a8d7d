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

/// Which questions an authorization webhook is asked: those for which every condition holds. Conditions are expressions over `request`, the
/// spec of a SubjectAccessReview of v1. Copies share what was compiled.
///
/// Differs from Kubernetes: an evaluation that costs more than a million units fails. Upstream bounds none.
class AccessConditions {
public:
    /// Error: BadRequest with what upstream says of the value: "compilation failed: ...", "must evaluate to bool but got int".
    Result<void> add(const std::string& expression);
    bool empty() const { return expressions_.empty(); }
    /// Whether all hold. One that does not hold decides, also where others fail. Error: InternalError with all that failed.
    Result<bool> match(const schema::Value& request) const;

private:
    std::vector<Expression> expressions_;
};

/// Counts of match conditions under upstream's names, by the authorizer, whose name is a DNS name.
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
