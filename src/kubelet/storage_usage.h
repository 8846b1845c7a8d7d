#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/volumes/volume_manager.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {

/// The use of one volume.
struct VolumeUse {
    std::string name;
    std::string claim;          ///< "" if it has none
    bool on_node_disk = false;  ///< counts towards the pod's ephemeral-storage
    TreeUsage used;             ///< of a claim, by everybody on its file system
    FileSystemUsage file_system;
};

/// A pod's use of the node's file systems, without the writable layers of its containers, which the runtime reports.
struct StorageUse {
    std::vector<VolumeUse> volumes;
    std::map<std::string, TreeUsage> logs;  ///< by container

    /// Logs and volumes on the node's disk.
    TreeUsage on_node_disk() const;
};

/// How much pods have written, as of the last measurement. Lives on the loop; reads the trees in `workers`, and asks drivers about their
/// volumes, for up to 10 s. All references outlive it and its task.
class StorageUsage {
public:
    struct Services {
        EventLoop& loop;
        FileSystem& files;
        WorkerPool& workers;
        const VolumeManager& volumes;
        std::string log_root;
        std::function<std::vector<std::shared_ptr<const core::Pod>>()> pods;
        CsiVolumes* csi = nullptr;                ///< null if there are none
        client::EventRecorder* events = nullptr;  ///< for unhealthy volumes; null: no events
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
