#pragma once
#include <functional>

#include "base/log.h"
#include "kubelet/container/container_config.h"
#include "kubelet/devices/pod_devices.h"
#include "kubelet/images/image_puller.h"
#include "kubelet/lifecycle/hooks.h"
#include "kubelet/lifecycle/start_counts.h"
#include "kubelet/volumes/volume_manager.h"
#include "windows/support.h"

namespace porthole::kubelet {

/// Settings shared by all starts on the node.
struct StarterConfig {
    std::string root_directory;      ///< "/var/lib/kubelet"
    std::string log_root;            ///< "/var/log/pods"
    std::string log_link_directory;  ///< "/var/log/containers"; "" for no links
    Platform platform;
    windows::Gates gates;  ///< the feature gates that are on
    bool cgroup_v2 = false, seccomp_default = false;
    bool selinux = false;  ///< on this machine: files of a container need its label
};

/// Shared by the containers of one pod while they are started.
struct PodStartContext {
    std::shared_ptr<const core::Pod> pod;
    std::string sandbox_id;
    cri::PodSandboxConfig sandbox;
    PodRuntimeState state;
    DownwardContext downward;
    Environment services;
    MountedVolumes volumes;
    bool runtime_knows_cdi = true;     ///< else they are resolved here
    bool mounts_files = true;          ///< the runtime can mount single files
    bool recursive_read_only = false;  ///< whether the pod's runtime handler can mount so
    PodHostname hostname;
    std::vector<std::shared_ptr<const core::Secret>> pull_secrets;
};

/// Starts containers: image, configuration, creation, start, postStart hook; each step is recorded in an event. Serves all pods of the
/// node; of one pod, one start at a time. The services must outlive it and its tasks.
class ContainerStarter {
public:
    struct Services {
        EventLoop& loop;
        Random& random;
        RuntimeService& runtime;
        ImagePuller& puller;
        NetworkProber& network;
        FileSystem& files;
        VolumeManager& volumes;
        PodDevices& devices;
        ObjectSource& objects;
        client::EventRecorder& events;
        Logger log;
    };
    ContainerStarter(Services services, StarterConfig config, Backoff restarts = Backoff())
        : services_(std::move(services)), config_(std::move(config)), restarts_(std::move(restarts)) {}

    StarterConfig& config() { return config_; }
    /// Why the container does not run, or nullopt if it does. Fails only by cancellation.
    Task<std::optional<WaitingReason>> start(const PodStartContext& context, ContainerSpec spec);
    /// How long a repeatedly ending container must still wait for its next start.
    std::optional<Duration> restart_delay(const core::Pod& pod, const PodRuntimeState& state, const core::Container& container) const;
    StartCounts& counts() { return counts_; }
    void forget_pod(const std::string& uid) { restarts_.forget_prefix(uid + "_"); }

private:
    Task<std::optional<WaitingReason>> try_to_start(const PodStartContext& context, ContainerSpec spec);
    std::optional<WaitingReason> hold_back(const PodStartContext& context, const ContainerSpec& spec);
    Task<cri::ContainerConfig> prepare(const PodStartContext& context, const ContainerSpec& spec, const ImageOutcome& image);
    bool wants_hosts_file(const PodStartContext& context, const core::Container& container, const char* path) const;
    Result<void> add_own_mounts(const PodStartContext& context, const core::Container& container, std::vector<cri::Mount>& mounts);
    std::int32_t next_restart_count(const PodStartContext& context, const core::Container& container);
    Task<std::optional<WaitingReason>> run_post_start(const PodStartContext& context, ContainerSpec spec, std::string id);
    void link_log(const PodStartContext& context, const core::Container& container, const std::string& id, std::int32_t attempt);
    std::string restart_key(const core::Pod& pod, const core::Container& container) const;

    Services services_;
    StarterConfig config_;
    Backoff restarts_;
    StartCounts counts_;
    bool log_links_fail_ = false;  ///< logged once: a file system without links
};

}  // namespace porthole::kubelet
