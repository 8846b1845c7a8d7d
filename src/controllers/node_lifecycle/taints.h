#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

using Taints = std::vector<api::core::v1::Taint>;

inline constexpr std::string_view NotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view UnreachableTaint = "node.kubernetes.io/unreachable";
inline constexpr std::string_view NoSchedule = "NoSchedule";
inline constexpr std::string_view NoExecute = "NoExecute";

/// "True", "False", "Unknown", or "" if the node has never reported it.
std::string_view ready_status(const api::core::v1::Node& node);

bool has_taint(const api::core::v1::Node& node, std::string_view key, std::string_view effect);

/// The node's taints, with the NoSchedule taints that its conditions require added, and those no longer required removed. Other taints, and
/// those that remain, are not changed. A node that has not yet reported whether it is ready keeps the not-ready taint that it was created
/// with.
Taints no_schedule_taints(const api::core::v1::Node& node, SystemTime now);

/// The node's taints with only that one of not-ready and unreachable as NoExecute; "" for neither.
Taints no_execute_taints(const api::core::v1::Node& node, std::string_view wanted_key, SystemTime now);

}  // namespace porthole::controllers
