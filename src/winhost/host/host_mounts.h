#pragma once
#include <string>

#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// File systems of the machine on an emulated host's drive, where programs of the host and containers see them. Containers may write to the
/// drive: nothing on the way may be a link of theirs, also not a moment later. Blocking; any thread may call. `files` outlives it.
class HostMounts {
public:
    /// `root` is the host's root file system.
    HostMounts(FileSystem& files, std::string root) : files_(files), root_(std::move(root)) {}

    /// The directory of a Windows path, below the root; it has no link in it then. Errors: BadRequest.
    Result<std::string> folder_of(const std::string& windows_path) const;
    std::string path_of(const std::string& folder) const { return join_path(root_, folder); }
    Result<std::size_t> count(const std::string& folder) const;
    /// Makes the mount at `from`, where no container reaches, visible in the directory, which is created. Errors: Forbidden, Io.
    Result<void> show(const std::string& from, const std::string& folder) const;
    /// What is unmounted ends with its last user. Success if nothing is mounted.
    Result<void> hide(const std::string& folder) const;

private:
    FileSystem& files_;
    std::string root_;
};

}  // namespace porthole::winhost
