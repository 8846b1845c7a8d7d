#pragma once
#include "api/core_v1.h"
#include "client/client.h"
#include "kubelet/node/host.h"
#include "node_join/windows_node/node_plan.h"

namespace porthole::node_join {

/// The Node object as its kubelet would first create it, with the addresses but nothing else of the status: so that the cluster assigns a
/// pod range to the node, and the pod network, which other nodes reach by the address, can exist before the kubelet starts. Error:
/// BadRequest for an invalid label or taint.
Result<api::core::v1::Node> first_node(const WindowsNode& node, const kubelet::HostFacts& facts);

/// Creates it unless it exists; an existing one is not changed, since its kubelet corrects the labels. Returns a line that says which.
Task<std::string> introduce_node(client::Transport& transport, api::core::v1::Node node);

}  // namespace porthole::node_join
