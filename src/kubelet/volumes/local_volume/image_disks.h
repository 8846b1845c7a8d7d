#pragma once
#include <memory>
#include <string>

#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// The seam to file systems in image files, which cannot become larger than their file. Images and directories are where no container
/// reaches.
class ImageDisks {
public:
    virtual ~ImageDisks() = default;
    /// Creates `image`, replacing an existing one: an empty file system that all users may write to. It takes space only as it is filled.
    /// Errors: NotFound without the program for that; Io.
    virtual Task<> make(std::string image, std::uint64_t bytes) = 0;
    /// Unmounts leftovers of a make() that was killed, which keeps its device and its directory. Requires: no make() of it is running.
    /// Short and blocking.
    virtual Result<void> end_unfinished(const std::string& image) = 0;
    /// Mounts the file system at `directory`, which exists, until that is unmounted. It may be mounted at several places. Success if it is
    /// already mounted there. Error: Io. Short and blocking.
    virtual Result<void> mount(const std::string& image, const std::string& directory) = 0;
    /// Whether this process may expand mounted file systems, which needs a capability on Linux.
    virtual bool grows_mounted() = 0;
    /// Expands the file system to at least that size. Requires: grows_mounted(), and mounted at `directory`. Safe to repeat. Error: Io.
    /// Short and blocking.
    virtual Result<void> grow(const std::string& image, const std::string& directory, std::uint64_t bytes) = 0;
    /// The same for one that is mounted nowhere.
    virtual Task<> grow_unmounted(std::string image, std::uint64_t bytes) = 0;
    /// Whether it is shown anywhere.
    virtual Result<bool> in_use(const std::string& image) = 0;
};

/// ext4 on loop devices, by the programs of e2fsprogs (Linux). `processes` outlives it.
std::unique_ptr<ImageDisks> make_image_disks(ProcessRunner& processes);

}  // namespace porthole::kubelet
