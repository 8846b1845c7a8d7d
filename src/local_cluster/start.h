#pragma once
#include <string>

#include "base/log.h"
#include "base/progress_report.h"
#include "local_cluster/state/cluster.h"

namespace porthole::local_cluster {

/// The cluster stored in `data`, changed to `options`, or a new one from `options`. `running`: a supervisor runs it; then the result is the
/// running cluster, which can only differ in its nodes (resize.h). Errors: as check_resize(); Conflict if data of claims would be lost with
/// a host that is no longer wanted.
Result<Cluster> planned_cluster(const DataDir& data, const ClusterOptions& options, bool& running);

/// Writes the cluster down, starts a supervisor for it and blocks until all is up, reporting the supervisor's steps. Error: one line
/// that names the logs.
Result<void> start_cluster(const DataDir& data, Cluster& cluster, ProgressReport& progress);

/// Starts another supervisor whenever the one named in cluster.json has died without ending the cluster. Until cancelled. Error: as
/// Cluster::load.
Task<> revive_supervisors(AsioLoop& loop, DataDir data, Logger log);

}  // namespace porthole::local_cluster
