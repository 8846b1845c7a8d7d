#pragma once
#include <set>
#include <string>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// Empties nodes before they are removed or upgraded, like `kubectl drain`: they are cordoned, and their pods are evicted within their
/// disruption budgets; pods of DaemonSets and static pods stay. If that fails, the nodes that were not cordoned before are uncordoned. A
/// node that the API does not have counts as empty. References outlive it.
///
/// Errors: Conflict, before any pod is evicted, with the names of volumes whose data are only on these nodes and of pods that no controller
/// would create again; Timeout after `limit`, with a pod and why it could not be evicted.
Task<> drain(EventLoop& loop, client::Client& client, std::set<std::string> nodes, Duration limit);

/// Like `kubectl cordon` and `uncordon`. No effect if there is no such node.
Task<> set_unschedulable(client::Client& client, std::string node, bool value);

}  // namespace porthole::local_cluster
