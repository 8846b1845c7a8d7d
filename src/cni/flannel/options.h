#pragma once
#include <string>
#include <vector>

#include "base/flag_set.h"
#include "cni/flannel/daemon.h"

namespace porthole::cni::flannel {

/// The command line of the network manager as a program.
struct ProgramOptions {
    DaemonOptions daemon;  ///< the program finds address and MTU itself; node_name is "" by default
    std::string kubeconfig;
    std::string own_address;  ///< the node's address; "": the one towards the server
    bool windows_service = false;
    std::int64_t verbosity = 0;
    std::string log_directory;
    bool log_to_stderr = true;
    std::vector<std::string> warnings;
};

/// Flags of Flannel's daemon and a few more. The cluster's network comes from the file --net-config-path if given, otherwise from
/// --cluster-cidr and --backend. Error: BadRequest with one line that helps; those of the file.
Result<ProgramOptions> parse_program_options(const std::vector<std::string>& arguments, const std::string& node_name, FileSystem& files);
std::string program_flags_help();

}  // namespace porthole::cni::flannel
