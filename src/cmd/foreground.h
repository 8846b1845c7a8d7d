#pragma once
#include <string>

#include "cmd/program/runtime_setup.h"
#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::cmd {

/// Blocks until Ctrl-C or the supervisor's end, then ends the cluster. Returns the exit code. `what` is its name in messages.
int stay(RealWorld& world, local_cluster::ProcessId supervisor, const local_cluster::DataDir& data, const std::string& what);

}  // namespace porthole::cmd
