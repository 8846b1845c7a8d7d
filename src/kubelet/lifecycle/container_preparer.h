#pragma once
#include "kubelet/images/image_puller.h"
#include "kubelet/preparation/pod_preparer.h"
#include "runtime/random.h"

namespace porthole::kubelet {

/// Shared by the containers of one pod while they are started.
struct PodStartContext {
    std::shared_ptr<const core::Pod> pod;
    PreparedPod prepared;
    PodRuntimeState state;  ///< with a ready sandbox
    cri::PodSandboxConfig sandbox;
    std::vector<std::string> addresses;  ///< the pod's
};

/// Makes the configuration of a container, with what it needs on the node: mounts of volumes, devices, its hosts file, a file for its
/// termination message and a directory for its logs. All references outlive it and its tasks.
class ContainerPreparer {
public:
    struct Settings {
        std::string seccomp_root;  ///< "/var/lib/kubelet/seccomp": localhost profiles
        Platform platform;
        bool cgroup_v2 = false, seccomp_default = false;
        bool selinux = false;  ///< on this machine: files of a container need its label
    };
    ContainerPreparer(FileSystem& files, Random& random, const NodeFacts& node, VolumeManager& volumes, PodReferences& references,
                      PodDevices& devices, Settings settings)
        : files_(files),
          random_(random),
          node_(node),
          volumes_(volumes),
          references_(references),
          devices_(devices),
          settings_(std::move(settings)) {}

    /// Error: with upstream's text, for the container's waiting message.
    Task<cri::ContainerConfig> prepare(const PodStartContext& context, const ContainerSpec& spec, const ImageOutcome& image);
    /// Whether it is a HostProcess container, of Windows.
    bool runs_on_host(const core::Pod& pod, const core::Container& container) const;

private:
    bool mounts_files() const;
    bool wants_hosts_file(const PodStartContext& context, const core::Container& container, const char* path) const;
    Result<void> add_hosts_file(const PodStartContext& context, const core::Container& container, std::vector<cri::Mount>& mounts);
    Result<void> add_termination_file(const core::Pod& pod, const core::Container& container, std::vector<cri::Mount>& mounts);
    void add_mount(std::string file, std::string container_path, std::vector<cri::Mount>& mounts) const;
    std::int32_t next_restart_count(const PodStartContext& context, const core::Container& container);

    FileSystem& files_;
    Random& random_;
    const NodeFacts& node_;
    VolumeManager& volumes_;
    PodReferences& references_;
    PodDevices& devices_;
    Settings settings_;
};

}  // namespace porthole::kubelet
