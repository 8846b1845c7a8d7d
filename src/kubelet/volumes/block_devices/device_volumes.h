#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/volumes/block_devices/device_kind.h"
#include "kubelet/volumes/framework/plugin.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// A volume on a block device, as requested by a pod.
struct DeviceVolume {
    std::string kind;  ///< DeviceKind::name()
    DeviceDetails details;
    std::map<std::string, std::string> secrets;
    std::string fs_type;  ///< "" for ext4
    std::vector<std::string> mount_options;
    std::string context;  ///< of SELinux, that it is to be mounted with; "" for none
    bool read_only = false, is_block = false;
};

/// Block devices that pods of this node share: each is attached once, gets a file system if it has none, is mounted once, and bound to the
/// directories of its pods. With the last pod it is detached.
///
/// <root>/plugins/kubernetes.io/<kind>/<hash of the parameters>/ contains volume.json (the parameters), a file pods/<uid> with the targets
/// of each pod, one per line, the mount point `mount`, and a file `was-there` if the node had the device before: then it stays after the
/// last pod. All of it is written before the device is attached, so that a restarted kubelet finds what has to be taken down. Lives on the
/// kubelet's loop; all references outlive it.
class DeviceVolumes {
public:
    /// Requires: host.programs. `root`: the kubelet's directory.
    DeviceVolumes(const VolumeHost& host, std::vector<std::unique_ptr<DeviceKind>> kinds, std::string root)
        : host_(host), kinds_(std::move(kinds)), root_(std::move(root)) {}

    /// As VolumePlugin::set_up(). Error: BadRequest for an unknown kind, or an invalid name of a file system; Conflict if it is mounted for
    /// another pod with another file system or SELinux context, or read-only while this pod needs to write.
    Task<MountedVolume> set_up(const VolumeRequest& request, DeviceVolume volume);
    /// Expands the file system to the size of its device. Requires: set_up() with a file system. Safe to repeat. Error: grow_to_device()'s;
    /// NotFound if the device is gone.
    Task<> grow(DeviceVolume volume);
    /// Takes down the pod's devices. Error: of the first device that failed; it is unchanged, to be retried.
    Task<> tear_down(std::string uid);

private:
    DeviceKind* find_kind(const std::string& name) const;
    std::shared_ptr<Semaphore> lock_of(const std::string& folder);
    /// Held while a device is recorded and attached, and while one is detached, so that devices that share a session are examined only once
    /// at a time.
    std::shared_ptr<Semaphore> session_lock(DeviceKind& kind, const DeviceDetails& details);
    std::string folder_of_kind(const std::string& kind) const { return root_ + "/plugins/kubernetes.io/" + kind; }
    std::string folder_of(const DeviceVolume& volume) const;
    Result<void> record(DeviceKind& kind, const std::string& folder, const DeviceVolume& volume, const std::string& uid,
                        const std::string& target);
    Result<DeviceDetails> read_details(const std::string& folder);
    Task<std::string> attach(DeviceKind& kind, std::string folder, const DeviceVolume& volume, std::string uid, std::string target);
    /// Whether the pod can use the existing mount, which keeps its SELinux context while the pod has it. Error: Conflict.
    Result<void> check_mounted(const std::string& folder, const std::string& uid, DeviceVolume& volume);
    Task<> mount_once(std::string device, std::string folder, const DeviceVolume& volume);
    Task<> release(DeviceKind& kind, std::string folder, std::string uid);
    /// Where the pod has the device, by its record `mark`.
    Result<std::vector<std::string>> targets_of(const std::string& mark, const std::string& uid);
    /// The pods of the device. Removes leftovers of an interrupted FileSystem::replace().
    std::vector<std::string> users_of(const std::string& folder);
    /// Removes the record; without volume.json it has no owner.
    Result<void> forget(const std::string& folder);
    Task<> detach(DeviceKind& kind, std::string folder, DeviceDetails details);
    /// The record of another device of the kind.
    struct Other {
        DeviceDetails details;
        bool was_there = false;
    };
    std::vector<Other> others_than(const std::string& folder, DeviceKind& kind);
    /// Whether the device is on the node although no volume brought it.
    bool is_of_node(DeviceKind& kind, const std::string& folder, const DeviceDetails& details);

    const VolumeHost& host_;
    std::vector<std::unique_ptr<DeviceKind>> kinds_;
    std::string root_;
    std::map<std::string, std::weak_ptr<Semaphore>> locks_;  ///< by directory, and by kind and session
};

/// With all kinds that there are: iSCSI, Fibre Channel, and devices of the node itself.
std::unique_ptr<DeviceVolumes> make_device_volumes(const VolumeHost& host, std::string root);

}  // namespace porthole::kubelet
