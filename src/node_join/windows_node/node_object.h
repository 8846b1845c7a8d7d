#pragma once
#include "api/core_v1.h"
#include "client/client.h"
#include "kubelet/node/host.h"
#include "node_join/windows_node/node_plan.h"

namespace porthole::node_join {

/// The Node object as its kubelet would make it first, with the addresses but nothing else of the status: so that the cluster gives the
/// node a range of pod addresses, and the pod network, which other nodes reach by the address, can be there before the kubelet starts.
/// Error: BadRequest for a label or taint that cannot be read.
Result<api::core::v1::Node> first_node(const WindowsNode& node, const kubelet::HostFacts& facts);

/// Creates it unless it is there, in which case it stays as it is: its kubelet corrects the labels. Yields a line that says which.
Task<std::string> introduce_node(client::Transport& transport, api::core::v1::Node node);

}  // namespace porthole::node_join
