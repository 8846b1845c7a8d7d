#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "client/client.h"
#include "kubelet/volumes/flex_volume/flex_driver.h"
#include "kubelet/volumes/framework/plugin.h"
#include "runtime/sync.h"

namespace porthole::kubelet {

/// A volume of a FlexVolume driver, as requested by a pod.
struct FlexVolume {
    std::string driver;
    std::string name;    ///< the PersistentVolume's, or that of the pod's volume
    std::string device;  ///< identifies the attached device: pods whose volumes have the same share it
    std::string fs_type;
    std::map<std::string, std::string> options, secrets;
    bool read_only = false;
};

FlexVolume flex_volume_of(const core::FlexVolumeSource& source, const std::string& name);
FlexVolume flex_volume_of(const core::PersistentVolume& volume, bool read_only);

/// Volumes that programs of the node mount (FlexVolume). Drivers receive upstream's commands: init, attach, waitforattach, mountdevice,
/// mount, unmount, unmountdevice and detach. The kubelet performs those that a driver does not support.
///
/// Differs from Kubernetes: attach and detach are called on the node, as by a kubelet with --enable-controller-attach-detach=false.
/// Upstream's controller manager calls drivers on the control plane's machine; Porthole needs none there.
///
/// <root>/pods/<uid>/plugins/kubernetes.io~flexvolume/<volume>/volume.json describes a pod's volume. For attached devices,
/// <root>/plugins/kubernetes.io/flexvolume/<vendor>~<driver>/<device>/ contains volume.json, a file pods/<uid> for each pod and the mount
/// point `mount`. All of it is written before the driver is called, so that a restarted kubelet finds what has to be taken down. Lives on
/// the kubelet's loop; all references outlive it.
class FlexVolumes {
public:
    struct Settings {
        std::string root;       ///< the kubelet's directory
        std::string directory;  ///< where drivers are
        std::string node_name;
    };
    /// Requires: host.programs.
    FlexVolumes(const VolumeHost& host, client::Client& client, Settings settings)
        : host_(host), client_(client), settings_(std::move(settings)) {}

    /// As VolumePlugin::set_up(). `secret`: its data are added to the volume's secrets; name "" for none.
    Task<MountedVolume> set_up(const VolumeRequest& request, FlexVolume volume, client::NamespacedName secret);
    /// Takes down the pod's volumes. Error: of the first volume that failed; it is unchanged, to be retried.
    Task<> tear_down(std::string uid);

private:
    /// The record of a pod's volume, or of an attached device.
    struct Record {
        std::string driver, name, target, device;
    };
    Task<> set_up_at(std::string target, const VolumeRequest& request, FlexVolume volume, client::NamespacedName secret);
    std::string records_of(const std::string& uid) const { return settings_.root + "/pods/" + uid + "/plugins/kubernetes.io~flexvolume"; }
    std::string folder_of(const std::string& driver, const std::string& device) const;
    std::string target_of(const std::string& uid, const FlexVolume& volume) const;
    std::string options_for(const core::Pod* pod, const FlexVolume& volume, bool gives_group) const;
    std::string native(std::string path) const;
    std::shared_ptr<Semaphore> lock_of(const std::string& folder);
    Result<bool> is_there(const std::string& target);
    Result<void> write(const std::string& path, const Record& record);
    Result<Record> read(const std::string& path);
    Task<FlexAnswer> find(const VolumeRequest& request, const FlexVolume& volume, std::optional<FlexDriver>& driver);
    Task<> attach(const VolumeRequest& request, const FlexDriver& driver, const FlexVolume& volume, std::string folder);
    Task<> mount(const VolumeRequest& request, const FlexDriver& driver, const FlexVolume& volume, bool gives_group, std::string folder);
    Task<> release(std::string uid, std::string record_folder);
    Task<> release_device(std::string uid, const Record& record, const FlexDriver* driver);
    Task<> unmount(std::string target);

    const VolumeHost& host_;
    client::Client& client_;
    Settings settings_;
    std::set<std::string> done_;                             ///< ready marks of volumes whose driver mounts nothing
    std::map<std::string, std::weak_ptr<Semaphore>> locks_;  ///< by directory
};

}  // namespace porthole::kubelet
