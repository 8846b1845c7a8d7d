#pragma once
#include "cmd/bundle/machine_facts.h"
#include "cmd/bundle/writer.h"
#include "runtime/files/file_system.h"
#include "runtime/processes/process.h"

namespace porthole::cmd::bundle {

/// Runs the programs of `facts` and adds their output below `folder`. A program that fails, or takes longer than 20 s, is noted.
/// `network_namespace` as in Command; with `only_network`, only facts about networks are added. Arguments passed by reference outlive the
/// task. Errors: Cancelled; Io of the archive.
Task<> add_machine(ProcessRunner& processes, Writer& writer, std::vector<MachineFact> facts, std::string folder,
                   std::string network_namespace = "", bool only_network = false);

/// Adds the end of every file below `directory` whose name contains ".log", including subdirectories, as a file of `folder`: blocks. Audit
/// logs are left out, because they record users' actions. Error: Io of the archive.
Result<void> add_logs(FileSystem& files, Writer& writer, const std::string& directory, const std::string& folder);

}  // namespace porthole::cmd::bundle
