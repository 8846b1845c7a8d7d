#pragma once
#include "cmd/cluster.h"
#include "cmd/progress.h"
#include "cmd/runtime_setup.h"

namespace porthole::cmd {

/// What is kept in `data`, or what `options` ask for where nothing is. `running`: a supervisor keeps it up already. Error:
/// AlreadyExists when that one was started with other options.
Result<Cluster> planned_cluster(const DataDir& data, const ClusterOptions& options, bool& running);

/// Writes the cluster down, starts a supervisor for it and shows its steps until all is up. Error: one line that names the logs.
Result<void> start_cluster(const DataDir& data, Cluster& cluster, Progress& progress);

/// Blocks until Ctrl-C or the supervisor's end, then takes everything down. Yields the exit code. `what` is for people.
int stay(RealWorld& world, ProcessId supervisor, const DataDir& data, const std::string& what);

/// Whether PATH has `program`.
bool in_path(const std::string& program);

}  // namespace porthole::cmd
