#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// The seam to the system's mounts. Short blocking calls. Errors: Io, and as listed below.
class Mounter {
public:
    virtual ~Mounter() = default;
    /// Mounts memory that all users may write to; it is only swapped out if the kernel does not support preventing that. `size_limit` in
    /// bytes; 0 for half of the machine's. The directory exists; success if something is already mounted there.
    virtual Result<void> mount_memory(const std::string& directory, std::uint64_t size_limit) = 0;
    /// Mounts a file system of huge pages of `page_size` bytes. As above.
    virtual Result<void> mount_huge_pages(const std::string& directory, std::uint64_t page_size) = 0;
    /// Mounts the file or directory at `sub_path` inside `root` at `target`, which is created if necessary; returns the path for
    /// containers. Links may not lead out of `root`, not even if they change during the call. Error: Forbidden then; NotFound.
    virtual Result<std::string> bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target) = 0;
    /// Creates missing directories of `sub_path` inside `root`, with the mode and group of `root`, so that users who may write there may
    /// write here. As above, links may not lead out of `root`: whatever a container does at the same time, nothing outside is created or
    /// changed. Error: Forbidden then.
    virtual Result<void> make_beneath(const std::string& root, const std::string& sub_path) = 0;
    /// Makes the mount at `directory` read-only, without devices and set-user-id.
    virtual Result<void> make_read_only(const std::string& directory) = 0;
    /// Success if nothing is mounted there. A mount in use disappears immediately, and ends with its last user. May take as long as a disk
    /// or a file server takes to write.
    virtual Result<void> unmount(const std::string& target) = 0;
    /// The same, but a mount in use stays. Error: Conflict then.
    virtual Result<void> unmount_idle(const std::string& target) { return unmount(target); }
    /// Mount points at or below `directory`, in the order in which they can be unmounted. Empty if there is no such directory.
    virtual Result<std::vector<std::string>> mounts_below(const std::string& directory) = 0;
};

/// The machine's own (Linux).
std::unique_ptr<Mounter> make_mounter();

/// For systems without bind mounts (Windows): memory-backed directories are plain ones, and a sub path is returned as its real path, with
/// links resolved. A container that replaces a directory by a link between the check and the use of its name can still lead out: Windows
/// has no call for both at once. `files` outlives it.
std::unique_ptr<Mounter> make_plain_mounter(FileSystem& files);

}  // namespace porthole::kubelet
