#pragma once
#include <string>
#include <vector>

namespace porthole::cmd::bundle {

/// A program whose output describes this machine, and the archive's file for it.
struct MachineFact {
    std::string file;
    std::vector<std::string> command;
    bool of_network = false;  ///< run in the network namespace of the examined node
};

/// The facts of this operating system, one row each. `own_program` is this program's path.
std::vector<MachineFact> machine_facts(const std::string& own_program);

}  // namespace porthole::cmd::bundle
