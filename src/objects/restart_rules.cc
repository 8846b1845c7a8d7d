#include "objects/restart_rules.h"

#include <algorithm>

namespace porthole::objects {

using api::core::v1::Container;
using api::core::v1::ContainerRestartRule;
using api::core::v1::PodSpec;
using Action = api::core::v1::ContainerRestartRuleAction;
using ExitCodes = api::core::v1::ContainerRestartRuleOnExitCodesOperator;
using Policy = api::core::v1::RestartPolicy;

const ContainerRestartRule* matching_restart_rule(const Container& container, std::int32_t exit_code) {
    for (const ContainerRestartRule& rule : container.restart_policy_rules) {
        if (!rule.exit_codes) continue;
        const auto& values = rule.exit_codes->values;
        const bool listed = std::ranges::find(values, exit_code) != values.end();
        const std::string& how = rule.exit_codes->operator_;
        if ((how == ExitCodes::In && listed) || (how == ExitCodes::NotIn && !listed)) return &rule;
    }
    return nullptr;
}

bool restarts_all_containers(const Container& container, std::int32_t exit_code) {
    const ContainerRestartRule* rule = matching_restart_rule(container, exit_code);
    return rule && rule->action == Action::RestartAllContainers;
}

bool may_restart_all_containers(const PodSpec& spec) {
    const auto has_rule = [](const Container& container) {
        return std::ranges::any_of(container.restart_policy_rules,
                                   [](const ContainerRestartRule& rule) { return rule.action == Action::RestartAllContainers; });
    };
    return std::ranges::any_of(spec.init_containers, has_rule) || std::ranges::any_of(spec.containers, has_rule);
}

bool may_restart(const Container& container, const PodSpec& spec, std::int32_t exit_code) {
    if (matching_restart_rule(container, exit_code)) return true;
    const std::string& policy = container.restart_policy ? *container.restart_policy : spec.restart_policy;
    return policy == Policy::OnFailure ? exit_code != 0 : policy != Policy::Never;
}

}  // namespace porthole::objects
