#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"
#include "runtime/random.h"
#include "winhost/disks/disk_source.h"

namespace porthole::winhost {

/// The disks of an emulated host: each regular file in `folder`, or link to one, is an attached disk. Names have letters, digits, '.', '-'
/// and '_' only, at most LongestName; others, and names that begin with '.', are ignored, as are files smaller than SmallestDisk. A disk
/// has the lowest free number when it is first seen, and keeps it until it is gone. Disks of `devices` follow them. Not thread-safe;
/// blocking. All references outlive it.
class AttachedDisks {
public:
    static constexpr std::size_t LongestName = 63, MostDisks = 256;
    AttachedDisks(FileSystem& files, Random& random, std::string folder, DiskSource* devices = nullptr)
        : files_(files), random_(random), folder_(std::move(folder)), devices_(devices) {}

    /// In the order of their numbers. Errors: Io.
    Result<std::vector<AttachedDisk>> list();
    /// Error: NotFound.
    Result<AttachedDisk> find(std::uint32_t number);
    /// The disk whose partition has this GUID. Errors: NotFound; Conflict if several have it, as copies of an image do.
    Result<AttachedDisk> find_partition(const std::string& id);
    /// Creates one partition of all that its reserved partitions leave, unless it has one. Error: Conflict for a disk without a
    /// table that is not empty, or without room.
    Result<void> partition(const AttachedDisk& disk);
    /// Enlarges the partition to `bytes`, at most to the end of the disk or the next reserved one; 0 means that. It never shrinks. Yields
    /// it.
    Result<Partition> grow_partition(const AttachedDisk& disk, std::uint64_t bytes);

private:
    std::optional<AttachedDisk> find_image(const std::string& name);
    void read_table(AttachedDisk& disk);
    void give_numbers(std::vector<AttachedDisk>& disks);

    FileSystem& files_;
    Random& random_;
    std::string folder_;
    DiskSource* devices_;
    std::map<std::string, std::uint32_t> numbers_;  ///< by name
};

}  // namespace porthole::winhost
