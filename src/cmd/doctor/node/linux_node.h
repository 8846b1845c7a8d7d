#pragma once
#include "client/kubeconfig.h"
#include "cmd/doctor/node/node_evidence.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::cmd::doctor {

/// Looks at this machine as a Linux node of the cluster that `config` leads to. `agent_is_there`: whether its process is, of which the
/// parts may not answer yet. `folder`: of the kubeconfig and of the node's identity. What does not answer is part of the evidence.
Task<NodeEvidence> gather_linux_node(AsioLoop& loop, client::ClientConfig config, std::string folder, bool agent_is_there);

}  // namespace porthole::cmd::doctor
