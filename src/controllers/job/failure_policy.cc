#include "controllers/job/failure_policy.h"

#include <algorithm>

#include <fmt/format.h>

namespace porthole::controllers {

using api::batch::v1::PodFailurePolicyOnExitCodesRequirement;
using api::batch::v1::PodFailurePolicyRule;
using api::core::v1::ContainerStatus;
using api::core::v1::Pod;

namespace {

FailureVerdict::Action action_of(const std::string& name) {
    using enum FailureVerdict::Action;
    if (name == "FailJob") return FailJob;
    if (name == "FailIndex") return FailIndex;
    if (name == "Ignore") return Ignore;
    return Count;
}

bool fits(const PodFailurePolicyOnExitCodesRequirement& wanted, const ContainerStatus& container) {
    if (wanted.container_name && *wanted.container_name != container.name) return false;
    if (!container.state.terminated || container.state.terminated->exit_code == 0) return false;
    const bool listed = std::ranges::find(wanted.values, container.state.terminated->exit_code) != wanted.values.end();
    return listed == (wanted.operator_ == "In");
}

std::optional<std::string> fits(const PodFailurePolicyRule& rule, std::size_t number, const Pod& pod) {
    const std::string key = pod.metadata.namespace_ + "/" + pod.metadata.name;
    if (rule.on_exit_codes) {
        for (const auto* statuses : {&pod.status.init_container_statuses, &pod.status.container_statuses})
            for (const ContainerStatus& container : *statuses)
                if (fits(*rule.on_exit_codes, container))
                    return fmt::format("Container {} for pod {} failed with exit code {} matching {} rule at index {}", container.name, key,
                                       container.state.terminated->exit_code, rule.action, number);
        return std::nullopt;
    }
    for (const auto& pattern : rule.on_pod_conditions)
        for (const auto& condition : pod.status.conditions)
            if (condition.type == pattern.type && condition.status == (pattern.status.empty() ? "True" : pattern.status))
                return fmt::format("Pod {} has condition {} matching {} rule at index {}", key, condition.type, rule.action, number);
    return std::nullopt;
}

}  // namespace

FailureVerdict judge_failure(const api::batch::v1::JobSpec& spec, const Pod& pod) {
    if (!spec.pod_failure_policy) return {};
    const auto& rules = spec.pod_failure_policy->rules;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (auto message = fits(rules[i], i, pod)) return {action_of(rules[i].action), std::move(*message)};
    return {};
}

}  // namespace porthole::controllers
