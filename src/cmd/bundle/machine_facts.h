#pragma once
#include <string>
#include <vector>

namespace porthole::cmd::bundle {

/// A program whose output says what this machine is, and the file of the archive for it.
struct MachineFact {
    std::string file;
    std::vector<std::string> command;
    bool of_network = false;  ///< run in the network namespace of the node that is asked about
};

/// Those of the system that this is built for: a fact is a line here. `own_program` is this program's path.
std::vector<MachineFact> machine_facts(const std::string& own_program);

}  // namespace porthole::cmd::bundle
