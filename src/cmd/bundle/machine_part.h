#pragma once
#include "cmd/bundle/machine_facts.h"
#include "cmd/bundle/writer.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::cmd::bundle {

/// Runs the programs of `facts` and adds what they print below `folder`. One that fails, or takes longer than 20 s, is noted.
/// `network_namespace` as in Command; with `only_network` the facts that are not of a network are left out. What is passed by reference
/// outlives the task. Error: Cancelled, Io of the archive.
Task<> add_machine(ProcessRunner& processes, Writer& writer, std::vector<MachineFact> facts, std::string folder,
                   std::string network_namespace = "", bool only_network = false);

/// Adds the end of every file below `directory` whose name has ".log", folders included, as a file of `folder`: blocks. An audit log is
/// left out: it says who did what. Error: Io of the archive.
Result<void> add_logs(FileSystem& files, Writer& writer, const std::string& directory, const std::string& folder);

}  // namespace porthole::cmd::bundle
