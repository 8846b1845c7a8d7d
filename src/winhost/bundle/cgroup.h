#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// Resource use of a cgroup's processes.
struct CgroupUsage {
    std::uint64_t cpu_ns = 0;
    std::uint64_t memory_bytes = 0;     ///< without inactive file pages
    std::uint64_t anonymous_bytes = 0;  ///< memory written by the processes themselves
    std::uint64_t page_faults = 0;
    std::uint64_t processes = 0;
    std::uint64_t out_of_memory_kills = 0;
    std::vector<int> process_ids;  ///< in the host's PID namespace
};

/// The cgroup `path` ("/porthole/...") in either version of the interface, below /sys/fs/cgroup. Short blocking calls.
class Cgroups {
public:
    explicit Cgroups(FileSystem& files);
    /// Values that cannot be read are 0. Error: NotFound if there is no such cgroup.
    Result<CgroupUsage> usage(const std::string& path) const;
    /// Removes it with everything below; no process may be left in it. Success if it is not there.
    void remove(const std::string& path) const;
    /// Removes it if it has no children.
    void remove_empty(const std::string& path) const;

private:
    std::vector<std::string> hierarchies() const;
    std::uint64_t number(const std::string& file) const;
    std::uint64_t keyed(const std::string& file, std::string_view key) const;

    FileSystem& files_;
    bool unified_;
};

}  // namespace porthole::winhost
