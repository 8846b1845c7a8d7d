#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "winhost/disks/partition_table.h"

namespace porthole::winhost {

/// An image file, or a block device of the machine, that is attached as a disk.
struct AttachedDisk {
    std::uint32_t number = 0;  ///< from 1 on: disk 0 of a Windows host is its own
    std::string name;          ///< in the directory; or as its source calls it
    std::string image;         ///< path of the file or device, without links
    std::uint64_t bytes = 0;
    std::optional<PartitionTable> table;
    std::string problem;                   ///< why its contents cannot be used; else ""
    std::string serial_number, unique_id;  ///< as drivers see them
    std::string location;                  ///< as Windows writes it; "" for that of an image file
    std::shared_ptr<const void> held;      ///< while it exists, `image` names no other device
};

}  // namespace porthole::winhost
