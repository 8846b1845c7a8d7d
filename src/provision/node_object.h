#pragma once
#include <optional>
#include <string>

#include "api/core_v1.h"
#include "client/client.h"
#include "provision/machine_description.h"

/// What a run does with the Node object of a machine.
namespace porthole::provision {

/// nullopt where there is none.
Task<std::optional<api::core::v1::Node>> find_node(client::Client& client, std::string name);

/// When its kubelet last said whether it is Ready; zero where it never has.
Timestamp last_heartbeat(const api::core::v1::Node& node);

/// Waits until the node is Ready and its kubelet has said so later than `since`. Error: Timeout, with what the node says instead.
Task<> wait_until_ready(EventLoop& loop, client::Client& client, std::string name, Timestamp since, Duration limit);

/// Gives the node the labels and taints of `wanted`, and takes those away that it has by `before` alone. Others' stay. Writes nothing where
/// it has them.
Task<> set_labels_and_taints(client::Client& client, MachineDescription wanted, MachineDescription before);

}  // namespace porthole::provision
