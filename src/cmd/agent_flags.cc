#include "cmd/agent_flags.h"

namespace porthole::cmd {

void add_node_flags(CLI::App& app, node_join::AgentOptions& options) {
    app.add_option("--backend", options.backend,
                   "pod network between nodes: host-gw, vxlan (VNI 4096, UDP port 4789), or alloc (a router has the routes); must be the "
                   "same on all nodes")
        ->check(CLI::IsMember({"host-gw", "vxlan", "alloc"}))
        ->capture_default_str();
    app.add_option("--node-name", options.node_name, "the node's name")->capture_default_str();
    app.add_option("--node-ip", options.node_ip, "the node's address (default: the address from which it reaches the API server)");
    app.add_option("--container-runtime-endpoint", options.runtime_endpoint, "containerd's socket")->capture_default_str();
    app.add_option("--cni-conf-dir", options.cni_config_folder, "where containerd reads network configurations")->capture_default_str();
    app.add_option("--cgroup-root", options.cgroup_root, "parent of the pods' cgroups")->capture_default_str();
    app.add_option("--pod-manifest-path", options.pod_manifests, "directory of static pods");
    app.add_option("--kubelet-port", options.kubelet_port, "port of the kubelet, which the API server connects to")->capture_default_str();
    app.add_option("--max-pods", options.max_pods, "maximum number of pods on this node")->capture_default_str();
    app.add_option("--pod-max-pids", options.pod_max_pids, "maximum number of processes and threads of a pod; -1 for no limit")
        ->capture_default_str();
    app.add_flag("--seccomp-default", options.seccomp_default, "use the runtime's seccomp profile for containers without one");
    app.add_flag("--protect-kernel-defaults", options.protect_kernel_defaults,
                 "refuse to run if the kernel's settings differ from those that Kubernetes requires");
    app.add_option("--streaming-connection-idle-timeout", options.streaming_idle_timeout,
                   "idle time after which exec, attach and port-forward end; 0: never")
        ->capture_default_str();
    app.add_option("--tls-min-version", options.tls_min_version,
                   "minimum TLS version of the kubelet's port: VersionTLS12 (default) or VersionTLS13");
    app.add_option("--tls-cipher-suites", options.tls_cipher_suites, "TLS 1.2 ciphers that the kubelet's port accepts, separated by commas")
        ->delimiter(',');
    app.add_flag("--shared-disk", options.shared_disk, "do not collect images or evict pods, however full the disk is");
    app.add_option("--node-labels", options.labels, "labels of the node, as key=value separated by commas")->delimiter(',');
    app.add_option("--register-with-taints", options.taints, "taints of the node, as key=value:effect separated by commas")->delimiter(',');
}

}  // namespace porthole::cmd
