#pragma once
#include <string>

#include "base/progress_report.h"
#include "local_cluster/state/cluster.h"
#include "runtime/asio_loop.h"

namespace porthole::local_cluster {

/// Changes a running cluster to the nodes of `wanted`: drains surplus nodes, makes the supervisor remove them and start new ones, and waits
/// until those are Ready. Once the supervisor has been asked, it continues even if the caller ends. `report` gets a step for each. The
/// caller holds DataDir::up_lock(), and `cluster` was read under it. References outlive it.
///
/// Errors: `report` says why a node cannot be drained or did not start; Unavailable with what helps, as soon as the change has failed or
/// the cluster has been ended; Timeout with the log, if the supervisor does not finish.
Task<> resize_cluster(AsioLoop& loop, DataDir data, Cluster cluster, ClusterOptions wanted, ProgressReport& report);

/// Has the supervisor start the nodes that are not Ready, if there are any: those whose start failed, and those whose certificate the
/// cluster refuses. Otherwise, and for callers, as resize_cluster().
Task<> retry_nodes(AsioLoop& loop, DataDir data, Cluster cluster, ProgressReport& report);

}  // namespace porthole::local_cluster
