#pragma once
#include <string>

#include "kubelet/volumes/csi/csi_volume.h"
#include "kubelet/volumes/csi/volume_data.h"

namespace porthole::kubelet {

/// Where things of CSI volumes are below the kubelet's directory, as upstream has them:
/// plugins/kubernetes.io/csi/<driver>/<hash>/globalmount, plugins/kubernetes.io/csi/volumeDevices/{staging,publish, <name>},
/// pods/<uid>/volumes/kubernetes.io~csi/<name>/mount, pods/<uid>/volumeDevices/kubernetes.io~csi/<name>.
class CsiPaths {
public:
    CsiPaths(std::string root, bool is_windows) : root_(std::move(root)), is_windows_(is_windows) {}

    /// Has a directory for each pod.
    std::string pods() const { return root_ + "/pods"; }
    /// Has a directory for each driver, and "volumeDevices".
    std::string drivers() const { return root_ + "/plugins/kubernetes.io/csi"; }
    /// Has a directory for each volume of the pod, or a link for each device.
    std::string pod_folder(const std::string& uid, bool is_block) const;
    /// Exists while the pod may have the volume.
    std::string pod_record(const std::string& uid, const std::string& name, bool is_block) const;
    /// Of a volume that is not a device: has its staging path and its data file.
    std::string global_folder(const std::string& driver, const std::string& handle) const;
    /// Of a device; `kind`: "staging", "publish", or "" for the directory that contains "data".
    std::string device_folder(const char* kind, const std::string& name) const;
    /// The directory of a device's data file.
    std::string device_data(const std::string& name) const { return device_folder("", name) + "/data"; }
    std::string staging_path(const CsiVolumeData& data, bool is_block) const;
    std::string staging_path(const CsiVolume& volume) const;
    std::string target_path(const std::string& uid, const CsiVolume& volume) const;

    /// A path in a driver's form: on Windows with drive and backslashes, as the CSI proxy expects.
    std::string for_driver(std::string path) const;

private:
    std::string root_;
    bool is_windows_;
};

/// Removes an empty directory or a file, if it exists; a directory with content stays, and is an error.
Result<void> remove_empty(FileSystem& files, const std::string& path);
/// Removes the directory of a target and a data file.
Result<void> remove_csi_folder(FileSystem& files, const std::string& folder, const std::string& target);

}  // namespace porthole::kubelet
