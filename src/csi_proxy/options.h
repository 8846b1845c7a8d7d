#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "csi_proxy/path_rules.h"

namespace porthole::csi_proxy {

/// The command line of csi-proxy, with upstream's names and defaults.
struct CsiProxyOptions {
    std::string kubelet_path = "C:\\var\\lib\\kubelet";
    std::vector<std::string> working_directories;
    std::vector<std::string> services = {"msiscsi"};  ///< that drivers may start and stop
    bool require_privacy = true;
    std::int64_t verbosity = 0;
    std::string log_directory, log_file;
    bool log_to_stderr = true;
    bool windows_service = false;
    std::vector<std::string> warnings;
};

/// Upstream's flags may have one dash. Error: BadRequest with one line that helps.
Result<CsiProxyOptions> parse_csi_proxy_options(const std::vector<std::string>& arguments);
Result<PathRules> path_rules_of(const CsiProxyOptions& options);
std::string csi_proxy_flags_help();

}  // namespace porthole::csi_proxy
