#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/volumes/framework/programs.h"

namespace porthole::kubelet {

/// A device, and where and with which file system to mount it.
struct DeviceMount {
    std::string device, target, fs_type;
    std::vector<std::string> options;
    bool read_only = false;
};

/// Letters, digits, '-', '.' and '_' only: it becomes part of a program's name.
bool is_file_system_name(std::string_view name);

/// Mounts `mount.device` at `mount.target`, which exists, by the node's programs blkid, fsck, mkfs.<type> and mount. An empty device gets a
/// file system, unless it is only for reading; one with another file system, or with partitions, is not changed. Errors: Io with the
/// program's message; BadRequest because of the device's content.
Task<> format_and_mount(DeviceMount mount, ProcessRunner& programs);

/// Expands the mounted file system to the size of its device by the program of its type: resize2fs, xfs_growfs or btrfs. Safe to repeat.
/// Errors: Io with the program's message; MethodNotAllowed for a type that cannot be expanded.
Task<> grow_to_device(DeviceMount mount, ProcessRunner& programs);

}  // namespace porthole::kubelet
