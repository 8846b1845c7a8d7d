#include "cmd/agent_flags.h"

namespace porthole::cmd {

void add_node_flags(CLI::App& app, node_join::AgentOptions& options) {
    app.add_option("--backend", options.backend, "between nodes: host-gw or vxlan (VNI 4096, UDP port 4789), the same on all of them")
        ->check(CLI::IsMember({"host-gw", "vxlan"}))
        ->capture_default_str();
    app.add_option("--node-name", options.node_name, "the node's name")->capture_default_str();
    app.add_option("--node-ip", options.node_ip, "the node's address (default: the one towards the API server)");
    app.add_option("--container-runtime-endpoint", options.runtime_endpoint, "containerd's socket")->capture_default_str();
    app.add_option("--cni-conf-dir", options.cni_config_folder, "where containerd reads network configurations")->capture_default_str();
    app.add_option("--cgroup-root", options.cgroup_root, "pods' cgroups are made below it")->capture_default_str();
    app.add_option("--pod-manifest-path", options.pod_manifests, "folder of static pods");
    app.add_option("--kubelet-port", options.kubelet_port, "where the API server reaches the kubelet")->capture_default_str();
    app.add_option("--max-pods", options.max_pods, "pods on this node at most")->capture_default_str();
    app.add_flag("--shared-disk", options.shared_disk, "do not collect images or evict pods, however full the disk is");
    app.add_option("--node-labels", options.labels, "key=value, by comma")->delimiter(',');
    app.add_option("--register-with-taints", options.taints, "key=value:effect, by comma")->delimiter(',');
}

}  // namespace porthole::cmd
