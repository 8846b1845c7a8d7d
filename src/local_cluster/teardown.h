#pragma once
#include "local_cluster/state/cluster.h"
#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// Removes the leftovers of a cluster's processes on the machine: shims and pods, mounts, cgroups, links, rules. Safe at any time;
/// the processes named in cluster.json must have ended, except containerd, through which pods end in good order.
Task<> clean_up(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, const Cluster& cluster);

/// Ends the pods of one host in order, if its runtime still answers.
Task<> clean_up_host(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, NodeHost node);
/// Removes one host's files from the machine's disk, and its shims, mounts and cgroups. Requires: its processes have ended.
Task<> remove_host_files(AsioLoop& loop, const DataDir& data, NodeHost node);

}  // namespace porthole::local_cluster
