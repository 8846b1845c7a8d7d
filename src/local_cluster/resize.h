#pragma once
#include <string>

#include "base/progress_report.h"
#include "local_cluster/cluster.h"
#include "runtime/asio_loop.h"

namespace porthole::local_cluster {

/// Makes a cluster that runs one of the nodes of `wanted`: empties the nodes that are too many,
/// has the supervisor remove them and bring up new ones, and waits until those are Ready. Once the supervisor has been asked, it goes on
/// by itself, also when the caller ends. `report` gets a step for each. The caller holds DataDir::up_lock(), and `cluster` was read under
/// it. References outlive it.
///
/// Errors: what keeps a node from being drained is told by `report`; Timeout, naming the log, when the supervisor does not get there.
Task<> resize_cluster(AsioLoop& loop, DataDir data, Cluster cluster, ClusterOptions wanted, ProgressReport& report);

}  // namespace porthole::local_cluster
