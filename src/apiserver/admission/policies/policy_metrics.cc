#include "apiserver/admission/policies/policy_metrics.h"

#include "apiserver/expressions/expression.h"

namespace porthole::apiserver {

std::string policy_error_type(const std::string& error) {
    if (error.empty()) return "no_error";
    if (error.starts_with("compilation")) return "compile_error";
    return error.starts_with(OutOfBudget) ? "out_of_budget" : "invalid_error";
}

std::string AdmissionPolicyMetrics::labels_of(PolicyCheck& check) {
    const std::string name = check.policy + "/" + check.binding;
    if (!names_.contains(name)) {
        if (names_.size() >= MostNames) {
            check.policy.clear();
            check.binding.clear();
        } else {
            names_.insert(name);
        }
    }
    return metric_label("error_type", check.error_type) + "," + metric_label("policy", check.policy) + "," +
           metric_label("policy_binding", check.binding);
}

void AdmissionPolicyMetrics::count(Checks& checks, const std::string& labels, Duration taken) {
    ++checks.counts[labels];
    checks.durations.add(labels, taken);
}

void AdmissionPolicyMetrics::add_validation(PolicyCheck check) {
    const std::string labels = labels_of(check);
    count(validations_, metric_label("enforcement_action", check.enforcement) + "," + labels, check.taken);
}

void AdmissionPolicyMetrics::add_mutation(PolicyCheck check) { count(mutations_, labels_of(check), check.taken); }

void AdmissionPolicyMetrics::append(std::string& out) const {
    const auto append_checks = [&](const Checks& checks, const std::string& prefix, const char* what, const char* time) {
        const MetricFamily family(out, prefix + "check_total", "counter", what);
        for (const auto& [labels, count] : checks.counts) family.add(labels, count);
        checks.durations.append(out, prefix + "check_duration_seconds", time);
    };
    append_checks(validations_, "apiserver_validating_admission_policy_", "Checks of validating admission policies by their effect.",
                  "Time of evaluating validating admission policies.");
    append_checks(mutations_, "apiserver_mutating_admission_policy_", "Mutations of mutating admission policies.",
                  "Time of evaluating mutating admission policies.");
}

}  // namespace porthole::apiserver
