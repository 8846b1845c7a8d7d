#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The partition table of a disk (GPT, UEFI specification, section 5) with sectors of 512 bytes and at most one partition of data.
/// Partitions that Windows reserves for itself stay where they are.
namespace porthole::winhost {

/// One part of a disk.
struct Partition {
    std::string id;                      ///< a GUID in lower case, which also names its volume
    std::uint64_t start = 0, bytes = 0;  ///< on the disk
    std::uint64_t attributes = 0;        ///< bits that only their writer understands, such as "no drive letter"
    std::string name;                    ///< as on the disk, up to LongestPartitionName bytes

    bool operator==(const Partition&) const = default;
};
constexpr std::size_t LongestPartitionName = 72;

/// What a disk's table says.
struct PartitionTable {
    std::string disk_id;                 ///< a GUID
    std::optional<Partition> partition;  ///< of data
    std::vector<Partition> reserved;     ///< Microsoft reserved partitions (MSR); none overlaps with `partition`

    bool operator==(const PartitionTable&) const = default;
};

/// How much of a disk's start parse_partition_table() wants to see.
constexpr std::uint64_t DiskStart = 34 * 512;
/// The end of a disk that is for the second copy of its table.
constexpr std::uint64_t TableEnd = 33 * 512;
constexpr std::uint64_t SmallestDisk = 4 << 20;

/// The partition of data for a disk of that size that has none: all that follows the reserved ones, which may be nothing. Requires:
/// bytes >= SmallestDisk.
Partition whole_disk(std::string id, const std::vector<Partition>& reserved, std::uint64_t bytes);
/// Up to where the table's partition of data can grow: the disk's end, or the next reserved partition. Requires: it has one.
std::uint64_t end_of_room(const PartitionTable& table, std::uint64_t bytes);

/// What a disk of `bytes` has at its start and in its last TableEnd bytes. Requires: at most 128 partitions, all on the disk.
std::string partition_table_start(const PartitionTable& table, std::uint64_t bytes);
std::string partition_table_end(const PartitionTable& table, std::uint64_t bytes);

/// `start` and `end` are the first DiskStart bytes and the last TableEnd bytes of a disk, which anyone may have written. The second copy
/// counts if the first is damaged. Nullopt if there is no table. Error: Invalid for one with several partitions of data, with a partition
/// that is not on the disk, or if that of data overlaps with a reserved one.
Result<std::optional<PartitionTable>> parse_partition_table(std::string_view start, std::string_view end, std::uint64_t bytes);

}  // namespace porthole::winhost
