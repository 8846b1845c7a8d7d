#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// The partition table of a disk (GPT, UEFI specification, section 5) with sectors of 512 bytes and at most one partition of data.
namespace porthole::winhost {

/// One part of a disk.
struct Partition {
    std::string id;                      ///< a GUID in lower case, which also names its volume
    std::uint64_t start = 0, bytes = 0;  ///< on the disk
};

/// How much of a disk's start parse_partition_table() wants to see.
constexpr std::uint64_t DiskStart = 34 * 512;
/// The end of a disk that is for the second copy of its table.
constexpr std::uint64_t TableEnd = 33 * 512;
constexpr std::uint64_t SmallestDisk = 4 << 20;

/// The largest partition of a disk of that size. Requires: bytes >= SmallestDisk.
Partition whole_disk(std::string id, std::uint64_t bytes);

/// What a disk of `bytes` has at its start and in its last TableEnd bytes. `disk_id` is a GUID. Requires: the partition fits whole_disk().
std::string partition_table_start(const Partition& partition, const std::string& disk_id, std::uint64_t bytes);
std::string partition_table_end(const Partition& partition, const std::string& disk_id, std::uint64_t bytes);

/// What a disk's table says.
struct PartitionTable {
    std::string disk_id;
    std::optional<Partition> partition;  ///< the reserved one of Windows is none
};

/// `start` and `end` are the first DiskStart bytes and the last TableEnd bytes of a disk, which anyone may have written. The second copy
/// counts if the first is damaged. Nullopt if there is no table. Error: Invalid for one with several partitions, or with one that is not
/// on the disk.
Result<std::optional<PartitionTable>> parse_partition_table(std::string_view start, std::string_view end, std::uint64_t bytes);

}  // namespace porthole::winhost
