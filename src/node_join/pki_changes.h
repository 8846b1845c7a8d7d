#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"

namespace porthole::node_join {

/// Tells when the files of a Pki have to be read again. Reading parses and verifies each of them, which costs some 60 million instructions;
/// this only looks at their names, sizes, inodes and times. Short blocking calls; the references outlive it.
class PkiChanges {
public:
    /// Certificates come into the last third of their life without a change of their file.
    static constexpr Duration Longest = std::chrono::hours(1);
    /// Files are read again while they are this new: a second change within one tick of the file system's clock cannot be seen.
    static constexpr Duration Settling = std::chrono::seconds(10);

    PkiChanges(FileSystem& files, std::string folder, const Clock& clock) : files_(files), folder_(std::move(folder)), clock_(clock) {}

    /// Whether the folder may differ from what taken() has confirmed, or that is `Longest` ago. Call it before the files are read.
    bool due();
    /// What was read after the last due() is in use.
    void taken() { taken_ = looked_; }

private:
    struct FileState {
        std::uint64_t size = 0, inode = 0;
        std::chrono::sys_time<std::chrono::nanoseconds> modified;
        bool operator==(const FileState&) const = default;
    };
    struct Look {
        MonotonicTime at;
        std::map<std::string, FileState> found;  ///< by name; empty if the folder cannot be read
    };
    Look look();

    FileSystem& files_;
    const std::string folder_;
    const Clock& clock_;
    Look looked_, taken_;
};

}  // namespace porthole::node_join
