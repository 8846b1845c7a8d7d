#include "local_cluster/control_plane/hardened.h"

#include "kubelet/node/kernel_defaults.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

/// More than any usual program has, and far below what the kernel takes.
constexpr std::int64_t ProcessesOfAPod = 4096;

/// Nodes that join verify the cluster by cluster-info before they have a credential.
constexpr const char* Authentication =
    R"(# Where requests without a credential are answered; everywhere else they get 401. `porthole up --hardened` has written this file
# and leaves it to you: the server takes up changes by itself.
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions:
  - path: /livez
  - path: /readyz
  - path: /healthz
  - path: /api/v1/namespaces/kube-public/configmaps/cluster-info
)";

/// The limits are above what a scheduler of a large rollout writes, and stop a flood. In kube-system the cluster's own pods would run.
constexpr const char* Admission =
    R"(# How admission plugins are set. `porthole up --hardened` has written this file and leaves it to you; changes hold after a restart.
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits:
    - {type: Server, qps: 1000, burst: 10000}
    - {type: Namespace, qps: 100, burst: 2000}
    - {type: User, qps: 200, burst: 2000}
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline, enforce-version: latest}
    exemptions: {namespaces: [kube-system]}
)";

Result<void> ensure_file(const std::filesystem::path& path, const char* text) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return {};
    return write_durably(path, text);
}

}  // namespace

std::vector<std::string> hardened_server_flags(const DataDir& data) {
    return {
        "--admission-control-config-file",
        data.admission_file().string(),
        "--audit-log-maxage",
        "30",
        "--audit-log-maxbackup",
        "10",
        "--audit-log-maxsize",
        "100",
        "--authentication-config",
        data.authentication_file().string(),
        "--enable-admission-plugins",
        "DenyServiceExternalIPs,EventRateLimit",
        "--service-account-extend-token-expiration",
        "false",
    };
}

Result<void> ensure_hardened_files(const DataDir& data) {
    TRY_VOID(ensure_file(data.authentication_file(), Authentication));
    return ensure_file(data.admission_file(), Admission);
}

void harden(node_join::AgentOptions& agent, FileSystem& files) {
    agent.seccomp_default = true;
    agent.pod_max_pids = ProcessesOfAPod;
    agent.protect_kernel_defaults = kubelet::check_kernel_defaults(files).has_value();
}

}  // namespace porthole::local_cluster
