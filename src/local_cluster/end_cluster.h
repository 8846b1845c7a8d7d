#pragma once
#include "local_cluster/cluster.h"
#include "runtime/process.h"

namespace porthole::local_cluster {

/// Ends the cluster and removes what it left: by its supervisor, or in the supervisor's place where that has died. Error: Timeout when
/// the supervisor does not end within two minutes.
Task<> end_cluster(AsioLoop& loop, ProcessRunner& processes, DataDir data, Cluster cluster);

}  // namespace porthole::local_cluster
