#include "local_cluster/hardened.h"

#include "kubelet/node/kernel_defaults.h"

namespace porthole::local_cluster {
namespace {

/// More than any usual program has, and far below what the kernel takes.
constexpr std::int64_t ProcessesOfAPod = 4096;

}  // namespace

std::vector<std::string> hardened_server_flags() {
    return {
        "--audit-log-maxage",
        "30",
        "--audit-log-maxbackup",
        "10",
        "--audit-log-maxsize",
        "100",
        "--enable-admission-plugins",
        "DenyServiceExternalIPs",
        "--service-account-extend-token-expiration",
        "false",
    };
}

void harden(node_join::AgentOptions& agent, FileSystem& files) {
    agent.seccomp_default = true;
    agent.pod_max_pids = ProcessesOfAPod;
    agent.protect_kernel_defaults = kubelet::check_kernel_defaults(files).has_value();
}

}  // namespace porthole::local_cluster
