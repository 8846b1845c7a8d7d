#pragma once
#include <string>

#include "kubelet/volumes/csi/csi_drivers.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// How full a volume is, as its driver tells it.
struct CsiStats {
    FileSystemUsage file_system;
    TreeUsage used;
    schema::Box<api::csi::v1::VolumeCondition> condition;  ///< empty where the driver tells none
};

/// `path`: as the driver writes it. Error: MethodNotAllowed where the driver tells nothing, Timeout after `limit`.
Task<CsiStats> ask_csi_stats(CsiDrivers& drivers, std::string driver, std::string handle, std::string path, Duration limit);

}  // namespace porthole::kubelet
