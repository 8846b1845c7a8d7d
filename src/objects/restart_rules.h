#pragma once
#include <cstdint>

#include "api/core_v1.h"

/// What happens after a container has ended, by its own rules (KEP-5307, KEP-5532), its own policy, or its pod's policy.
namespace porthole::objects {

/// The first of the container's restart rules that matches; nullptr if none does. Valid as long as `container`.
const api::core::v1::ContainerRestartRule* matching_restart_rule(const api::core::v1::Container& container, std::int32_t exit_code);

/// Whether this end of the container restarts all containers of its pod.
bool restarts_all_containers(const api::core::v1::Container& container, std::int32_t exit_code);
/// Whether a container of the pod has a rule for that.
bool may_restart_all_containers(const api::core::v1::PodSpec& spec);

/// Whether a container of the pod may be restarted after it ended.
bool may_restart(const api::core::v1::Container& container, const api::core::v1::PodSpec& spec, std::int32_t exit_code);

}  // namespace porthole::objects
