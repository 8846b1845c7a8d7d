#pragma once
#include <memory>

#include "client/informer.h"
#include "kubelet/eviction.h"
#include "kubelet/node/host.h"
#include "kubelet/node/node_reporter.h"
#include "kubelet/pod_manager.h"

namespace porthole::kubelet {

/// What a kubelet is told. Durations and limits are upstream's unless said otherwise.
struct KubeletConfig {
    NodeIdentity node;
    std::string root_directory = "/var/lib/kubelet";
    std::string log_root = "/var/log/pods";
    std::string log_link_directory = "/var/log/containers";  ///< "" for no links
    std::string static_pod_directory;                        ///< "" for none
    std::vector<std::string> cluster_dns;
    std::string cluster_domain = "cluster.local";
    std::string resolv_conf =
        "/etc/resolv.conf";   ///< what dnsPolicy Default gives to pods; "" for nothing, "Host" for a Windows machine's own
    std::string cgroup_root;  ///< "" or "/name": several kubelets on one machine need one each
    std::size_t parallel_image_pulls = 1;
    std::int64_t log_max_bytes = 10 << 20;  ///< of one file, then it is rotated
    int log_max_files = 5;                  ///< of one container
    EvictionThresholds eviction;
    ImageGc::Policy image_gc;
    Backoff restart_backoff;  ///< of containers that keep ending
};

/// The world around a kubelet: all outlive it.
struct KubeletDependencies {
    EventLoop& loop;
    Random& random;
    Logger log;
    client::Client& client;
    RuntimeService& runtime;
    ImageService& images;
    FileSystem& files;
    Mounter& mounter;
    Cgroups& cgroups;
    NetworkProber& prober;
    Host& host;
};

/// The agent of one node. Lives on one loop; several may share a process in simulations.
class Kubelet {
public:
    Kubelet(KubeletConfig config, KubeletDependencies dependencies);
    ~Kubelet();

    /// Works until cancelled; containers go on running then, for the next kubelet to find.
    Task<> run();

    // For the kubelet's HTTP server.
    PodManager& pods();
    const StatusManager& statuses() const;
    const KubeletConfig& config() const;
    const KubeletDependencies& dependencies() const;
    const NodeFacts& node() const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace porthole::kubelet
