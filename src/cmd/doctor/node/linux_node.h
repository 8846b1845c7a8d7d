#pragma once
#include "client/kubeconfig.h"
#include "cmd/doctor/node/node_evidence.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::cmd::doctor {

/// Examines this machine as a Linux node of the cluster of `config`. `agent_is_there`: whether its process exists, whose parts may not
/// answer yet. `folder` contains the kubeconfig and the node's identity. Missing answers are part of the evidence.
Task<NodeEvidence> gather_linux_node(AsioLoop& loop, client::ClientConfig config, std::string folder, bool agent_is_there);

}  // namespace porthole::cmd::doctor
