#pragma once
#include <vector>

#include "runtime/task.h"
#include "winhost/disks/attached_disk.h"

namespace porthole::winhost {

/// Block devices of the machine that are disks of an emulated host.
class DiskSource {
public:
    virtual ~DiskSource() = default;
    /// Without numbers and tables. Names have a ',', as no image file's has, and are unique. Blocking.
    virtual std::vector<AttachedDisk> list() = 0;
    /// Finds devices that were added, and sizes that have changed.
    virtual Task<> rescan() = 0;
};

}  // namespace porthole::winhost
