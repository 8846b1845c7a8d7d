#pragma once
#include <string>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// Empties a node before it is removed, as `kubectl drain` does: no pod is put on it any more, and those on it are evicted within their
/// disruption budgets; pods of DaemonSets and static pods stay. Where it cannot be emptied, it takes pods again. References outlive it.
///
/// Errors: NotFound without that node; Conflict, naming them, for volumes whose data are on this node alone and for pods that no
/// controller would make again; Timeout, naming a pod and why it could not be evicted, after `limit`.
Task<> drain(EventLoop& loop, client::Client& client, std::string node, Duration limit);

}  // namespace porthole::local_cluster
