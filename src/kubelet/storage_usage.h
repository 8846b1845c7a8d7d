#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/volumes/volume_manager.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {

/// What one volume takes.
struct VolumeUse {
    std::string name;
    std::string claim;          ///< "" where it has none
    bool on_node_disk = false;  ///< part of what a pod's ephemeral-storage counts
    TreeUsage used;             ///< of a claim, by everybody on its file system
    FileSystemUsage file_system;
};

/// What a pod takes on the node's file systems, without the writable layers of its containers, which the runtime counts.
struct StorageUse {
    std::vector<VolumeUse> volumes;
    std::map<std::string, TreeUsage> logs;  ///< by container

    const VolumeUse* find_volume(const std::string& name) const;
    /// Logs and volumes on the node's disk together.
    TreeUsage on_node_disk() const;
};

/// Knows how much pods have written, as of the last measurement. Lives on the loop; reads the trees in `workers`, and asks drivers about
/// their volumes, which they may have within 10 s. All references outlive it and its task.
class StorageUsage {
public:
    struct Services {
        EventLoop& loop;
        FileSystem& files;
        WorkerPool& workers;
        const VolumeManager& volumes;
        std::string log_root;
        std::function<std::vector<std::shared_ptr<const core::Pod>>()> pods;
        CsiVolumes* csi = nullptr;                ///< null where there are none
        client::EventRecorder* events = nullptr;  ///< told of volumes that are not well; null: no one is
    };
    explicit StorageUsage(Services services) : services_(std::move(services)) {}

    /// Measures every minute, until cancelled.
    Task<> run();
    /// Empty before the pod was first measured.
    const StorageUse& of(const std::string& uid) const;

private:
    Task<> measure();
    Task<> ask_drivers(std::map<std::string, StorageUse>& measured);
    Task<> ask_driver(std::shared_ptr<const core::Pod> pod, std::string name, MountedVolume volume, StorageUse& use);

    Services services_;
    std::map<std::string, StorageUse> by_uid_;
};

}  // namespace porthole::kubelet
