#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// The seam to the system's mounts. Short blocking calls. Errors: Io, and as said below.
class Mounter {
public:
    virtual ~Mounter() = default;
    /// Mounts memory that everybody may write to; it is swapped out only where the kernel knows no better. `size_limit` in bytes; 0 for
    /// half of the machine's. The directory exists; success if something is mounted there already.
    virtual Result<void> mount_memory(const std::string& directory, std::uint64_t size_limit) = 0;
    /// Files there are made of huge pages of `page_size` bytes. As above.
    virtual Result<void> mount_huge_pages(const std::string& directory, std::uint64_t page_size) = 0;
    /// Shows the file or directory at `sub_path` inside `root` at `target`, which is made as needed; yields the path to give to
    /// containers. Links may not lead out of `root`, not even when they change meanwhile. Error: Forbidden then; NotFound.
    virtual Result<std::string> bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target) = 0;
    /// Makes the directories of `sub_path` that are missing inside `root`, with the mode and group of `root`, so that those who may write
    /// there may write here. As above, links may not lead out of `root`: whatever a container does meanwhile, nothing outside is
    /// made or changed. Error: Forbidden then.
    virtual Result<void> make_beneath(const std::string& root, const std::string& sub_path) = 0;
    /// What is mounted at `directory` is from now on for reading only, without devices and set-user-id.
    virtual Result<void> make_read_only(const std::string& directory) = 0;
    /// Success if nothing is mounted there. What is still in use goes out of sight now, and ends with its last user. May take as long as
    /// a disk or a file server takes to write.
    virtual Result<void> unmount(const std::string& target) = 0;
    /// The same, but what is still in use stays. Error: Conflict then.
    virtual Result<void> unmount_idle(const std::string& target) { return unmount(target); }
    /// Mount points at or below `directory`, in the order in which they can be unmounted. Nothing if there is no such directory.
    virtual Result<std::vector<std::string>> mounts_below(const std::string& directory) = 0;
};

/// The machine's own (Linux).
std::unique_ptr<Mounter> make_mounter();

/// For systems without bind mounts (Windows): memory-backed directories are plain ones, and a sub path is given as its
/// real path, links followed. `files` outlives it.
std::unique_ptr<Mounter> make_plain_mounter(FileSystem& files);

}  // namespace porthole::kubelet
