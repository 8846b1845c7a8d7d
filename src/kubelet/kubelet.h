#pragma once
#include <functional>
#include <memory>

#include "client/informers/informer.h"
#include "kubelet/eviction.h"
#include "kubelet/images/image_mounts.h"
#include "kubelet/node/node_reporter.h"
#include "kubelet/node/node_system.h"
#include "kubelet/plugins/plugin_connection.h"
#include "kubelet/pod/backoff.h"
#include "kubelet/pod_manager.h"
#include "kubelet/storage_usage.h"
#include "kubelet/user_namespaces/user_namespaces.h"
#include "kubelet/volumes/csi/csi_metrics.h"

namespace porthole::kubelet {

/// A kubelet's settings. Durations and limits are upstream's unless stated otherwise.
struct KubeletConfig {
    NodeIdentity node;
    std::string root_directory = "/var/lib/kubelet";
    std::string log_root = "/var/log/pods";
    std::string log_link_directory = "/var/log/containers";                                        ///< "" for no links
    std::string static_pod_directory;                                                              ///< "" for none
    std::string volume_plugin_directory = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/";  ///< of FlexVolume drivers
    std::vector<std::string> cluster_dns;
    std::string cluster_domain = "cluster.local";
    std::string sandbox_image;  ///< the runtime's presumed sandbox image; "" if none was given
    std::string resolv_conf =
        "/etc/resolv.conf";   ///< what dnsPolicy Default gives to pods; "" for nothing, "Host" for a Windows machine's own
    std::string cgroup_root;  ///< "" or "/name": several kubelets on one machine need one each
    std::size_t parallel_image_pulls = 1;
    std::int64_t log_max_bytes = 10 << 20;            ///< of one file, then it is rotated
    int log_max_files = 5;                            ///< of one container
    std::int64_t pod_pids_limit = -1;                 ///< processes and threads of one pod; -1 for no limit
    std::int64_t ids_per_pod = UserNamespaces::Unit;  ///< users and groups in a pod's own user namespace: a multiple of it
    bool seccomp_default = false;                     ///< RuntimeDefault for containers that name no profile
    bool selinux_mount = false;                       ///< SELinux contexts for volumes of every access mode, not only those for one pod
    static constexpr Duration NeverIdle = std::chrono::hours(24 * 365 * 100);
    Duration streaming_idle = std::chrono::hours(4);  ///< of exec, attach and port-forward
    std::int64_t event_qps = 50, event_burst = 100;   ///< events per second; 0 for no limit
    windows::Gates feature_gates;                     ///< enabled gates
    bool identify_pod_os = true;                      ///< refuse pods whose spec.os is another system
    bool protect_kernel_defaults = false;             ///< run only if the kernel's settings are Kubernetes' defaults
    /// For /configz: the settings of the kubelet's server, which the creator of the server chooses.
    struct Serving {
        std::string client_ca_file, tls_cert_file, tls_private_key_file, tls_min_version;
        std::vector<std::string> tls_cipher_suites;
        bool rotate_certificates = true, issued_by_cluster = false;  ///< of the client certificate; by the cluster
    } serving;
    EvictionThresholds eviction;
    ImageGc::Policy image_gc;
    Backoff restart_backoff;  ///< of containers that keep ending
};

/// The collaborators of a kubelet. All outlive it, and are used on `loop`.
struct KubeletDependencies {
    EventLoop& loop;
    Random& random;
    Logger log;
    client::Client& client;
    RuntimeService& runtime;
    ImageService& images;
    FileSystem& files;
    WorkerPool& workers;
    const NodeSystem& system;
    NetworkProber& prober;
    ImageMounts* image_mounts = nullptr;  ///< null: image volumes are refused
    ProcessRunner* programs = nullptr;    ///< for mounting network volumes (Linux), and FlexVolume drivers; null: those are refused
    PluginConnector* plugins = nullptr;   ///< null: no plugin of the node is used, and pods with ResourceClaims are refused
};

/// The agent of one node. Lives on one loop; several may share a process in simulations. Reads from `host` and `files` in the constructor.
class Kubelet {
public:
    Kubelet(KubeletConfig config, KubeletDependencies dependencies);
    ~Kubelet();

    /// Works until cancelled; containers keep running then, and the next kubelet finds them. Call once, and let it end before destroying
    /// the kubelet. Error: Io if its directories or cgroups cannot be used.
    Task<> run();

    // For the kubelet's HTTP server.
    PodManager& pods();
    const Pleg& pleg() const;
    const StatusManager& statuses() const;
    const KubeletConfig& config() const;
    const KubeletDependencies& dependencies() const;
    const NodeFacts& node() const;
    const StorageUsage& storage() const;
    /// Null if there are no plugins.
    const CsiMetrics* csi_metrics() const;
    /// Of volumes, of certificates of pods, and of starts of containers.
    void append_metrics(std::string& out) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::kubelet
