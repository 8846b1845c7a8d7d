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

/// `directory`/vol_data.json. Error: NotFound if it is not there.
Result<CsiVolumeData> read_csi_volume_data(FileSystem& files, const std::string& directory);

}  // namespace porthole::kubelet
