#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/core_v1.h"
#include "base/result.h"
#include "kubelet/pod/resources.h"
#include "kubelet/volumes/framework/dependencies.h"
#include "runtime/files/file_system.h"
#include "runtime/task.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// The location of a volume on the node, and how containers may use it.
struct MountedVolume {
    std::string path;                    ///< "" if the runtime mounts `image`
    std::string image;                   ///< the CRI id of an image whose files the runtime mounts; "" for `path`
    bool read_only = false;              ///< regardless of what a container requests
    bool is_block = false;               ///< `path` is a block device, for volumeDevices; else a file or directory, for volumeMounts
    bool is_remote = false;              ///< another machine has the files: accessing them may block forever
    bool has_file_system = false;        ///< its own, so that the file system's size is the volume's
    bool restricted = false;             ///< by an access list (Windows): a container's account has to be allowed
    bool relabel = false;                ///< where SELinux is on, the runtime gives its files the container's label
    std::string claim;                   ///< of the pod's namespace; "" if there is none
    std::string csi_driver, csi_handle;  ///< the driver that reports its use; "" for the file system below `path`
    std::optional<std::int64_t> group;   ///< that the pod's containers need to have
};

/// The current step of a volume, for the event if it fails: `reason`, and `text` before the error's own.
struct VolumeStep {
    const char* reason;
    std::string text;
};

/// One volume of one pod.
struct VolumeRequest {
    std::shared_ptr<const core::Pod> pod;
    core::Volume volume;
    std::string directory;   ///< the volume's own, not created yet
    std::string ready_mark;  ///< a file that outlives the kubelet, see is_ready()
    bool mounted = false;    ///< in some container's volumeMounts
    bool mapped = false;     ///< in some container's volumeDevices
    ResourceList node_allocatable;
    VolumeStep& step;  ///< updated by the plugin as it proceeds

    /// Whether set_ready() was called for this volume of this pod, maybe by an earlier kubelet.
    bool is_ready(FileSystem& files) const { return files.exists(ready_mark); }
    Result<void> set_ready(FileSystem& files) const {
        TRY_VOID(files.create_directories(parent_path(ready_mark), 0750));
        return files.write(ready_mark, "", 0640);
    }

    std::optional<std::uint32_t> fs_group() const {
        const auto& security = pod->spec.security_context;
        if (!security || !security->fs_group) return std::nullopt;
        return static_cast<std::uint32_t>(*security->fs_group);
    }
};

/// One kind of volume. Implement it in a folder of its own and add it to plugins.def.
///
/// One instance serves all pods of a kubelet, on the kubelet's loop. It keeps no state of a volume in memory: the kubelet may restart
/// between calls, so volumes that are set up must be recognizable on disk or among the mounts.
class VolumePlugin {
public:
    virtual ~VolumePlugin() = default;
    virtual const char* name() const = 0;  ///< "kubernetes.io/empty-dir"
    /// Whether this plugin handles `volume`; the first plugin of the list that does is used.
    virtual bool supports(const core::Volume& volume) const = 0;
    /// Creates the volume, or updates it. Safe to repeat: called again in every sync of the pod. Calls for one volume do not overlap.
    /// Error: its message ends the text of an event that begins as request.step says, and the pod's sync is repeated later. After
    /// tear_down(), the volume manager unmounts and deletes everything below request.directory.
    virtual Task<MountedVolume> set_up(VolumeRequest request) = 0;
    /// Reverts what set_up() did outside of request.directory for volumes of the pod, possibly in an earlier kubelet, whose volumes are
    /// found on disk. No container uses them any longer. Safe to repeat. Error: to be retried; nothing of the pod is deleted before it
    /// succeeds.
    virtual Task<> tear_down(std::string /*pod_uid*/) { co_return {}; }
};

/// The claim of the volume, including an ephemeral one; "" for other kinds.
std::string claim_of(const core::Pod& pod, const core::Volume& volume);

/// Applies the pod's fsGroup to everything below `path`, according to fsGroupChangePolicy; does nothing without an fsGroup.
Task<> apply_fs_group(std::string path, std::shared_ptr<const core::Pod> pod, const VolumeHost& host);

}  // namespace porthole::kubelet
