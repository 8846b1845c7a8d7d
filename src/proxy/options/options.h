#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/flag_set.h"
#include "proxy/hns/kernelspace_proxy.h"
#include "runtime/files/file_system.h"

namespace porthole::proxy {

enum class System : std::uint8_t { Linux, Windows };

/// The command line of a stand-alone kube-proxy.
struct KubeProxyOptions {
    std::string kubeconfig, master, config_file;
    hns::KernelspaceOptions kernelspace;  ///< node_name is "" by default
    std::string healthz_address = "0.0.0.0", cluster_cidr;
    std::uint16_t healthz_port = 10256;  ///< 0: not served
    bool clean_up = false, windows_service = false;
    std::int64_t verbosity = 0;
    std::string log_directory, log_file;
    bool log_to_stderr = true;
    std::vector<std::string> warnings;
};

/// The file that --config names, then the flags; on Windows the network's name also from KUBE_NETWORK in `environment`.
/// Error: BadRequest with one line that helps.
Result<KubeProxyOptions> parse_kube_proxy_options(const std::vector<std::string>& arguments,
                                                  const std::map<std::string, std::string>& environment, FileSystem& files,
                                                  System system = System::Windows);
std::string kube_proxy_flags_help();

}  // namespace porthole::proxy
