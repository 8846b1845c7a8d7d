#include "cmd/agent_flags.h"

namespace porthole::cmd {

void add_node_flags(CLI::App& app, node_join::AgentOptions& options) {
    app.add_option("--backend", options.backend,
                   "between nodes: host-gw, vxlan (VNI 4096, UDP port 4789), or alloc (a router has the routes); the same on all of them")
        ->check(CLI::IsMember({"host-gw", "vxlan", "alloc"}))
        ->capture_default_str();
    app.add_option("--node-name", options.node_name, "the node's name")->capture_default_str();
    app.add_option("--node-ip", options.node_ip, "the node's address (default: the one towards the API server)");
    app.add_option("--container-runtime-endpoint", options.runtime_endpoint, "containerd's socket")->capture_default_str();
    app.add_option("--cni-conf-dir", options.cni_config_folder, "where containerd reads network configurations")->capture_default_str();
    app.add_option("--cgroup-root", options.cgroup_root, "pods' cgroups are made below it")->capture_default_str();
    app.add_option("--pod-manifest-path", options.pod_manifests, "directory of static pods");
    app.add_option("--kubelet-port", options.kubelet_port, "where the API server reaches the kubelet")->capture_default_str();
    app.add_option("--max-pods", options.max_pods, "pods on this node at most")->capture_default_str();
    app.add_option("--pod-max-pids", options.pod_max_pids, "processes and threads of one pod at most; -1 for no limit")
        ->capture_default_str();
    app.add_flag("--seccomp-default", options.seccomp_default, "the runtime's seccomp profile for containers that name none");
    app.add_flag("--protect-kernel-defaults", options.protect_kernel_defaults,
                 "refuse to run where the kernel's settings are others than Kubernetes'");
    app.add_option("--streaming-connection-idle-timeout", options.streaming_idle_timeout,
                   "how long exec, attach and port-forward may be silent; 0 for ever")
        ->capture_default_str();
    app.add_option("--tls-min-version", options.tls_min_version, "of the kubelet's port: VersionTLS12 (default) or VersionTLS13");
    app.add_option("--tls-cipher-suites", options.tls_cipher_suites, "ciphers of TLS 1.2 that the kubelet's port accepts, by comma")
        ->delimiter(',');
    app.add_flag("--shared-disk", options.shared_disk, "do not collect images or evict pods, however full the disk is");
    app.add_option("--node-labels", options.labels, "key=value, by comma")->delimiter(',');
    app.add_option("--register-with-taints", options.taints, "key=value:effect, by comma")->delimiter(',');
}

}  // namespace porthole::cmd
