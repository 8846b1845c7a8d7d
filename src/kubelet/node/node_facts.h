#pragma once
#include "kubelet/container/container_config.h"
#include "windows/support.h"

namespace porthole::kubelet {

/// Facts about the node that all pods need.
struct NodeFacts {
    std::string node_name;
    std::vector<std::string> host_addresses;
    ResourceList allocatable;
    std::string runtime_name = "containerd";
    std::string runtime_version;                                                                ///< "containerd://1.6.20"; "" until known
    bool runtime_knows_cdi = true;                                                              ///< it supports CDI device names
    std::string network_problem = "container runtime status check may not have completed yet";  ///< "" if pods can have networks
    ClusterDns dns;
    std::string cgroup_root;
    std::int64_t pod_pids_limit = -1;  ///< processes and threads of one pod; -1 for no limit
    std::string log_root;
    bool windows = false;
    windows::Gates gates;                               ///< the feature gates that are on
    std::vector<cri::RuntimeHandler> runtime_handlers;  ///< reported by the runtime; older ones report none

    /// What the runtime can do with this handler.
    cri::RuntimeHandlerFeatures features_of(const std::string& handler) const {
        for (const cri::RuntimeHandler& one : runtime_handlers)
            if (one.name == handler && one.features) return *one.features;
        return {};
    }
    /// Whether the runtime, with this handler, can make mounts below a volume read-only too.
    bool can_mount_recursively_read_only(const std::string& handler) const { return features_of(handler).recursive_read_only_mounts; }
    bool can_make_user_namespaces(const std::string& handler) const { return features_of(handler).user_namespaces; }
};

}  // namespace porthole::kubelet
