#pragma once
#include <set>
#include <string>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// Empties nodes before they are removed, as `kubectl drain` does: no pod is put on them any more, and those on them are evicted within
/// their disruption budgets; pods of DaemonSets and static pods stay. Where that does not succeed, all of them take pods again that did
/// before. A name that the API has no node of counts as empty. References outlive it.
///
/// Errors: Conflict, naming them, for volumes whose data are on these nodes alone and for pods that no controller would make again, before
/// any pod is evicted; Timeout, naming a pod and why it could not be evicted, after `limit`.
Task<> drain(EventLoop& loop, client::Client& client, std::set<std::string> nodes, Duration limit);

/// As `kubectl cordon` and `uncordon`. Harmless where there is no such node.
Task<> set_unschedulable(client::Client& client, std::string node, bool value);

}  // namespace porthole::local_cluster
