#pragma once
#include <string>

#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// The file vol_data.json next to a CSI volume's directory: everything that a restarted kubelet needs to take the volume down. Its field
/// names are upstream's.
struct CsiVolumeData {
    static constexpr const char* FileName = "vol_data.json";
    static constexpr std::size_t Largest = 64 << 10;

    std::string name;  ///< the PersistentVolume's, or that of the pod's volume
    std::string driver, handle, node, attachment;
    bool is_ephemeral = false;
    std::string context;  ///< CsiVolume::context
};

std::string to_json(const CsiVolumeData& data);
/// Error: BadRequest, also without a driver or a handle.
Result<CsiVolumeData> parse_csi_volume_data(std::string_view json);

/// `directory`/vol_data.json. Error: NotFound if it is not there, or was lost in a power failure.
Result<CsiVolumeData> read_csi_volume_data(FileSystem& files, const std::string& directory);

/// Writes it. A kubelet that is killed meanwhile leaves the old contents or the new. It is not synced, which would take longer than many a
/// driver does: a power failure may leave it missing or empty, and ends the mounts that it names.
Result<void> write_csi_volume_data(FileSystem& files, const std::string& directory, const CsiVolumeData& data);

/// Removes it, with what a killed kubelet left of a new one; success if it is not there.
Result<void> remove_csi_volume_data(FileSystem& files, const std::string& directory);

}  // namespace porthole::kubelet
