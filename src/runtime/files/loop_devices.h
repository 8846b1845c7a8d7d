#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

/// Loop devices: block devices that show what is in a file. Linux only.
namespace porthole {

/// One that this process holds: the kernel frees it with its last user, a mount or a descriptor.
class LoopDevice {
public:
    LoopDevice(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    LoopDevice(LoopDevice&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
    LoopDevice& operator=(LoopDevice&&) = delete;
    ~LoopDevice();

    const std::string& path() const { return path_; }  ///< "/dev/loop3"
    int descriptor() const { return descriptor_; }
    /// After the file has grown. Error: Io.
    Result<void> take_size_of_file() const;

private:
    std::string path_;
    int descriptor_;
};

/// Whether this process may enlarge a mounted ext4 file system: it has CAP_SYS_RESOURCE.
bool may_enlarge_mounted();

/// Finds and makes loop devices of files. Not thread-safe. All devices of the machine are looked at once only, as there may be a thousand:
/// those that other programs attach later are not found.
class LoopDevices {
public:
    /// Shows the file at `path` from byte `offset` on; yields the device that does so already, as one file system on two devices would be
    /// destroyed. `path` is not a link. Errors: NotFound; Conflict if a device shows it from another byte on; Io.
    Result<LoopDevice> attach(const std::string& path, std::uint64_t offset = 0);
    /// The device that shows the file, from wherever. Errors: NotFound, Io.
    Result<std::optional<LoopDevice>> find(const std::string& path);

private:
    using FileId = std::pair<std::uint64_t, std::uint64_t>;  ///< device and inode
    void look_at_all();
    std::optional<LoopDevice> find(FileId file);

    std::map<FileId, std::string> attached_;  ///< paths of devices; some may have been freed
    bool looked_ = false;
};

}  // namespace porthole
