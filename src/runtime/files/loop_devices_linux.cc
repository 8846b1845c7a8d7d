#include <fcntl.h>
#include <linux/capability.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/files/loop_devices.h"

namespace porthole {
namespace {

namespace fs = std::filesystem;

constexpr const char* BlockDevices = "/sys/block";
constexpr int Attempts = 20;  // at a free device, for which all programs of the machine compete

Error system_error(const std::string& what, int code = errno) {
    return Error(code == ENOENT ? Reason::NotFound : Reason::Io, what + ": " + std::strerror(code));
}

LoopDevice open_device(const std::string& path) { return {path, ::open(path.c_str(), O_RDWR | O_CLOEXEC)}; }

std::optional<loop_info64> info_of(const LoopDevice& device) {
    loop_info64 info{};
    if (device.descriptor() < 0 || ::ioctl(device.descriptor(), LOOP_GET_STATUS64, &info) != 0) return std::nullopt;
    return info;
}

}  // namespace

bool may_enlarge_mounted() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    return (sets[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective & CAP_TO_MASK(CAP_SYS_RESOURCE)) != 0;
}

LoopDevice::~LoopDevice() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> LoopDevice::take_size_of_file() const {
    return ::ioctl(descriptor_, LOOP_SET_CAPACITY, 0) == 0 ? Result<void>() : system_error("enlarging " + path_);
}

void LoopDevices::look_at_all() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(BlockDevices, ignored)) {
        const std::string name = entry.path().filename(), path = "/dev/" + name;
        if (!name.starts_with("loop") || !fs::exists(entry.path() / "loop/backing_file", ignored)) continue;
        if (const auto info = info_of(open_device(path))) attached_[{info->lo_device, info->lo_inode}] = path;
    }
}

std::optional<LoopDevice> LoopDevices::find(FileId file) {
    if (!std::exchange(looked_, true)) look_at_all();
    const auto known = attached_.find(file);
    if (known == attached_.end()) return std::nullopt;
    LoopDevice device = open_device(known->second);
    const auto info = info_of(device);
    if (info && FileId(info->lo_device, info->lo_inode) == file) return device;
    attached_.erase(known);  // freed with its last mount
    return std::nullopt;
}

Result<std::optional<LoopDevice>> LoopDevices::find(const std::string& path) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0) return system_error("looking at " + path);
    return find(FileId(status.st_dev, status.st_ino));
}

Result<LoopDevice> LoopDevices::attach(const std::string& path, std::uint64_t offset) {
    const LoopDevice file(path, ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    struct stat status;
    if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0) return system_error("opening " + path);
    const FileId id(status.st_dev, status.st_ino);
    if (auto found = find(id)) {
        const auto info = info_of(*found);
        if (!info || info->lo_offset != offset) return Error(Reason::Conflict, path + " is in use by " + found->path());
        return *std::move(found);
    }
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) return system_error("opening /dev/loop-control");
    const LoopDevice held_control("/dev/loop-control", control);
    for (int attempt = 0; attempt < Attempts; ++attempt) {
        const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0) return system_error("finding a free loop device");
        LoopDevice device = open_device("/dev/loop" + std::to_string(number));
        if (device.descriptor() < 0) return system_error("opening " + device.path());
        loop_config config{};
        config.fd = static_cast<std::uint32_t>(file.descriptor());
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
        config.info.lo_offset = offset;
        std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), path.c_str(), LO_NAME_SIZE - 1);
        if (::ioctl(device.descriptor(), LOOP_CONFIGURE, &config) == 0) {
            std::erase_if(attached_, [&](const auto& one) { return one.second == device.path(); });
            attached_[id] = device.path();
            return device;
        }
        if (errno != EBUSY) return system_error("attaching " + path + " to " + device.path());
    }
    return Error(Reason::Io, "attaching " + path + ": other programs take every free loop device");
}

}  // namespace porthole
