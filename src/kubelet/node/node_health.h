#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/coordination_v1.h"
#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// How many devices a plugin has, and how many of them can be used.
struct DeviceAmounts {
    std::int64_t capacity = 0, allocatable = 0;
    bool operator==(const DeviceAmounts&) const = default;
};

/// Conditions that other parts of the kubelet determine.
struct NodeHealth {
    std::vector<std::string> problems;  ///< why the node is not ready; empty when it is
    bool memory_pressure = false, disk_pressure = false, pid_pressure = false;
    std::string runtime_version;  ///< "containerd://1.6.20"
    std::vector<core::NodeRuntimeHandler> runtime_handlers;
    std::vector<std::string> volumes_in_use;       ///< that must not be detached, by upstream's names
    std::map<std::string, DeviceAmounts> devices;  ///< of device plugins, by resource
};

/// A condition without its times, and the reason of the event for a change.
struct HealthCondition {
    core::NodeCondition condition;
    const char* event;
};
core::NodeCondition node_condition(const char* type, bool holds, const char* reason, std::string message);
/// The conditions that every node has, in upstream's order; Ready is the last.
std::vector<HealthCondition> health_conditions(const NodeHealth& health);

inline constexpr const char* NodeLeaseNamespace = "kube-node-lease";
/// `lease` as renewed by the node: valid for 40 s from `now`, owned by the node if its uid is known.
api::coordination::v1::Lease renewed_lease(api::coordination::v1::Lease lease, const std::string& node, const std::string& node_uid,
                                           SystemTime now);

}  // namespace porthole::kubelet
