#include "apiserver/admission/condition_metrics.h"

#include "base/strings.h"

namespace porthole::apiserver {

void AdmissionConditionMetrics::add(ConditionsEvaluated evaluated) {
    if (!names_.contains(evaluated.name)) {
        if (names_.size() >= MostNames)
            evaluated.name.clear();
        else
            names_.insert(evaluated.name);
    }
    const std::string labels =
        join(std::initializer_list<std::string>{metric_label("kind", evaluated.kind), metric_label("name", evaluated.name),
                                                metric_label("operation", evaluated.operation), metric_label("type", evaluated.type)},
             ",");
    if (evaluated.errors > 0) errors_[labels] += evaluated.errors;
    if (evaluated.excluded) ++exclusions_[labels];
    durations_.add(labels, evaluated.taken);
}

void AdmissionConditionMetrics::append(std::string& out) const {
    const auto counter = [&](const std::string& name, const char* help, const std::map<std::string, std::uint64_t>& counts) {
        const MetricFamily family(out, name, "counter", help);
        for (const auto& [labels, count] : counts) family.add(labels, count);
    };
    counter("apiserver_admission_match_condition_evaluation_errors_total", "Match conditions of webhooks and policies that failed.",
            errors_);
    counter("apiserver_admission_match_condition_exclusions_total", "Requests that match conditions have excluded.", exclusions_);
    durations_.append(out, "apiserver_admission_match_condition_evaluation_seconds", "Time of evaluating match conditions.");
}

}  // namespace porthole::apiserver
