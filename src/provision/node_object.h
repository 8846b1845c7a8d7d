#pragma once
#include <optional>
#include <string>

#include "api/core_v1.h"
#include "client/client.h"
#include "provision/machine_description.h"

/// A run's operations on the Node object of a machine.
namespace porthole::provision {

/// nullopt if there is none.
Task<std::optional<api::core::v1::Node>> find_node(client::Client& client, std::string name);

/// When its kubelet last reported whether it is Ready; zero if it never has.
Timestamp last_heartbeat(const api::core::v1::Node& node);

/// Waits until the node is Ready and its kubelet has reported so later than `since`. Error: Timeout, with the node's report.
Task<> wait_until_ready(EventLoop& loop, client::Client& client, std::string name, Timestamp since, Duration limit);

/// Sets the labels and taints of `wanted` on the node, and removes those that come from `before` only. Others are not changed. Writes
/// nothing if there is no difference.
Task<> set_labels_and_taints(client::Client& client, MachineDescription wanted, MachineDescription before);

}  // namespace porthole::provision
