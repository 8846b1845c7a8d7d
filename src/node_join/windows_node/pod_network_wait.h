#pragma once
#include "hns/hns.h"
#include "node_join/windows_node/node_plan.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace porthole::node_join {

/// Waits until flanneld has created the HNS network and written the configuration for it. Error: Timeout, with where to look.
Task<> wait_for_pod_network(EventLoop& loop, hns::Hns& service, WindowsNode node);

}  // namespace porthole::node_join
