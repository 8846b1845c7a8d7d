#pragma once
#include <string>

#include "kubelet/volumes/csi/csi_drivers.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// A volume's use, as reported by its driver.
struct CsiStats {
    FileSystemUsage file_system;
    TreeUsage used;
    schema::Box<api::csi::v1::VolumeCondition> condition;  ///< empty if the driver reports none
};

/// `path`: in the driver's form. Error: MethodNotAllowed if the driver does not report statistics, Timeout after `limit`.
Task<CsiStats> ask_csi_stats(CsiDrivers& drivers, std::string driver, std::string handle, std::string path, Duration limit);

}  // namespace porthole::kubelet
