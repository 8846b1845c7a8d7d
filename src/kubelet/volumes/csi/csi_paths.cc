#include "kubelet/volumes/csi/csi_paths.h"

#include <algorithm>

#include "base/result.h"
#include "net/tls/crypto.h"

namespace porthole::kubelet {

std::string CsiPaths::pod_folder(const std::string& uid, bool is_block) const {
    return pods() + "/" + uid + (is_block ? "/volumeDevices/" : "/volumes/") + "kubernetes.io~csi";
}

std::string CsiPaths::pod_record(const std::string& uid, const std::string& name, bool is_block) const {
    const std::string own = pod_folder(uid, is_block) + "/" + name;
    return is_block ? own : own + "/" + CsiVolumeData::FileName;
}

std::string CsiPaths::global_folder(const std::string& driver, const std::string& handle) const {
    return drivers() + "/" + driver + "/" + net::sha256_hex(handle);
}

std::string CsiPaths::device_folder(const char* kind, const std::string& name) const {
    return drivers() + "/volumeDevices/" + kind + (*kind ? "/" : "") + name;
}

std::string CsiPaths::staging_path(const CsiVolumeData& data, bool is_block) const {
    return is_block ? device_folder("staging", data.name) : global_folder(data.driver, data.handle) + "/globalmount";
}

std::string CsiPaths::staging_path(const CsiVolume& volume) const {
    return volume.is_block ? device_folder("staging", volume.name) : global_folder(volume.driver, volume.handle) + "/globalmount";
}

std::string CsiPaths::target_path(const std::string& uid, const CsiVolume& volume) const {
    return volume.is_block ? device_folder("publish", volume.name) + "/" + uid : pod_folder(uid, false) + "/" + volume.name + "/mount";
}

std::string CsiPaths::for_driver(std::string path) const {
    if (!is_windows_) return path;
    std::ranges::replace(path, '/', '\\');
    return path.starts_with('\\') ? "C:" + path : path;
}

Result<void> remove_empty(FileSystem& files, const std::string& path) {
    auto removed = files.remove(path);
    return is_not_found(removed) ? Result<void>() : removed;
}

Result<void> remove_csi_folder(FileSystem& files, const std::string& folder, const std::string& target) {
    TRY_VOID(remove_empty(files, target));
    TRY_VOID(remove_csi_volume_data(files, folder));
    return remove_empty(files, folder);
}

}  // namespace porthole::kubelet
