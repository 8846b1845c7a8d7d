#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/volumes/framework/programs.h"

namespace porthole::kubelet {

/// A device, and where and as what its file system is to be mounted.
struct DeviceMount {
    std::string device, target, fs_type;
    std::vector<std::string> options;
    bool read_only = false;
};

/// Letters, digits, '-', '.' and '_' only: it becomes part of a program's name.
bool is_file_system_name(std::string_view name);

/// Mounts `mount.device` at `mount.target`, which exists, by the node's programs blkid, fsck, mkfs.<type> and mount. A device without
/// anything on it gets a file system, unless it is only to be read; one with another file system, or with partitions, is left as it is.
/// Errors: Io with the program's words; BadRequest for what the device holds.
Task<> format_and_mount(DeviceMount mount, ProcessRunner& programs);

/// Makes the mounted file system as large as its device by the program of its kind: resize2fs, xfs_growfs or btrfs. Safe to repeat. Errors:
/// Io with the program's words; MethodNotAllowed for a kind that cannot grow.
Task<> grow_to_device(DeviceMount mount, ProcessRunner& programs);

}  // namespace porthole::kubelet
