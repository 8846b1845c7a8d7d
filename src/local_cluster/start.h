#pragma once
#include <string>

#include "base/log.h"
#include "base/progress_report.h"
#include "local_cluster/cluster.h"

namespace porthole::local_cluster {

/// Whether this machine has what a cluster needs: programs, network ranges that are not in use, and ports that are free or used by the
/// cluster's own processes. Nothing is changed. Error: one line with the remedy.
Result<void> check_machine(const Cluster& cluster);
/// The part of it about programs: what nodes of these systems need.
Result<void> check_programs(const ClusterOptions& options);
/// Whether a server could listen on `port` of an IPv4 address; "" for every one.
bool port_is_free(std::uint16_t port, const std::string& address = "");

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
