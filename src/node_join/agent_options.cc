#include "node_join/agent_options.h"

#include <filesystem>

#include "base/strings.h"

namespace porthole::node_join {

std::vector<std::string> agent_arguments(const AgentOptions& options) {
    std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(), "agent"};
    const auto add = [&](const char* flag, const std::string& value) {
        if (value.empty()) return;
        words.push_back(flag);
        words.push_back(value);
    };
    add("--data", options.data);
    add("--kubeconfig", options.kubeconfig);
    add("--node-name", options.node_name);
    add("--node-ip", options.node_ip);
    add("--container-runtime-endpoint", options.runtime_endpoint);
    add("--cni-conf-dir", options.cni_config_folder);
    add("--cluster-cidr", options.cluster_cidr);
    add("--backend", options.backend);
    add("--service-cidr", options.service_cidr);
    add("--cluster-dns", options.cluster_dns);
    add("--cluster-domain", options.cluster_domain);
    add("--cgroup-root", options.cgroup_root);
    add("--pod-manifest-path", options.pod_manifests);
    add("--kubelet-port", std::to_string(options.kubelet_port));
    add("--max-pods", std::to_string(options.max_pods));
    if (options.pod_max_pids > 0) add("--pod-max-pids", std::to_string(options.pod_max_pids));
    add("--node-labels", join(options.labels, ","));
    add("--register-with-taints", join(options.taints, ","));
    if (options.streaming_idle_timeout != AgentOptions().streaming_idle_timeout)
        add("--streaming-connection-idle-timeout", options.streaming_idle_timeout);
    add("--tls-min-version", options.tls_min_version);
    add("--tls-cipher-suites", join(options.tls_cipher_suites, ","));
    if (options.protect_kernel_defaults) words.push_back("--protect-kernel-defaults");
    if (options.seccomp_default) words.push_back("--seccomp-default");
    if (options.shared_disk) words.push_back("--shared-disk");
    return words;
}

}  // namespace porthole::node_join
