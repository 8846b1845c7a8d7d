#pragma once
#include <string>
#include <vector>

#include "local_cluster/state/data_dir.h"
#include "node_join/agent_options.h"
#include "runtime/files/file_system.h"

/// The settings of `porthole up --hardened`, with which `porthole doctor` finds no failure: docs/guide/hardening.md.
namespace porthole::local_cluster {

/// Further arguments of the server.
std::vector<std::string> hardened_server_flags(const DataDir& data);
/// Writes the files that these flags name, where they are not there: from then on they are the administrator's. Error: Io.
Result<void> ensure_hardened_files(const DataDir& data);
/// The same for a Linux node. `files` has the kernel's settings, which are not changed, because other programs share the machine.
void harden(node_join::AgentOptions& agent, FileSystem& files);

}  // namespace porthole::local_cluster
