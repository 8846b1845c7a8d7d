#pragma once
#include "cmd/runtime_setup.h"
#include "cmd/windows/node_plan.h"

namespace porthole::cmd {

/// Until flanneld has made the HNS network and written the configuration for it. Error: Timeout, with where to look.
Task<> wait_for_pod_network(RealWorld& world, WindowsNode node);

}  // namespace porthole::cmd
