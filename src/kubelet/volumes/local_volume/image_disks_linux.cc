#include <fcntl.h>
#include <linux/capability.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "kubelet/volumes/local_volume/image_disks.h"
#include "runtime/files/mounts.h"

namespace porthole::kubelet {
namespace {

namespace fs = std::filesystem;

constexpr const char* LoopDevices = "/sys/block";
constexpr const char *Unfinished = ".new", *ForMaking = ".mounted";  // ends of names
constexpr int Repaired = 1;                                          // exit code of e2fsck
constexpr int Attempts = 20;                                         // at a free loop device, for which all programs of the machine compete
constexpr unsigned long ResizeExt4 = _IOW('f', 16, std::uint64_t);   // EXT4_IOC_RESIZE_FS, which no header of the kernel's has

Error system_error(const std::string& what, int code = errno) {
    return Error(code == ENOENT ? Reason::NotFound : Reason::Io, what + ": " + std::strerror(code));
}

class OpenFile {
public:
    explicit OpenFile(int fd = -1) : fd_(fd) {}
    OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    OpenFile& operator=(OpenFile&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~OpenFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }

private:
    int fd_;
};

/// Whether something is mounted there. The kernel says it of a path since Linux 5.8; before, all mounts have to be looked through.
Result<bool> is_mounted(const std::string& directory) {
    struct statx found{};
    if (::statx(AT_FDCWD, directory.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) == 0 &&
        (found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
        return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    TRY(const auto points, mount_points());
    return std::ranges::find(points, directory) != points.end();
}

/// A loop device that is ours as long as this is: the kernel frees it with its last user, a mount or a descriptor.
struct LoopDevice {
    std::string path;
    OpenFile descriptor;
};

class LinuxImageDisks final : public ImageDisks {
public:
    explicit LinuxImageDisks(ProcessRunner& processes) : processes_(processes) {}

    Task<> make(std::string image, std::uint64_t bytes) override {
        const std::string fresh = image + Unfinished;
        CO_TRY_VOID(make_file(fresh, bytes));
        CO_TRY_VOID(co_await run({"mkfs.ext4", "-q", "-F", "-m", "0", fresh}, 0));
        CO_TRY_VOID(open_to_everyone(fresh));
        co_return put_in_place(fresh, image);
    }

    Result<void> end_unfinished(const std::string& image) override {
        const std::string directory = image + Unfinished + ForMaking;
        for (;;) {
            TRY(const bool mounted, is_mounted(directory));
            if (!mounted) return {};
            if (::umount2(directory.c_str(), UMOUNT_NOFOLLOW) != 0) return system_error("unmounting " + directory);
        }
    }

    Result<void> mount(const std::string& image, const std::string& directory) override {
        TRY(const bool mounted, is_mounted(directory));
        if (mounted) return {};
        TRY(const LoopDevice loop, attach(image));
        if (::mount(loop.path.c_str(), directory.c_str(), "ext4", MS_NODEV, nullptr) != 0)
            return system_error("mounting " + image + " at " + directory);
        return {};
    }

    Result<void> grow(const std::string& image, const std::string& directory, std::uint64_t bytes) override {
        TRY(const LoopDevice loop, attach(image));
        TRY(const std::uint64_t wanted, enlarge(image, bytes));
        if (::ioctl(loop.descriptor.get(), LOOP_SET_CAPACITY, 0) != 0) return system_error("enlarging " + loop.path);
        const OpenFile root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct statfs shape;
        if (!root.is_open() || ::fstatfs(root.get(), &shape) != 0) return system_error("looking at " + directory);
        std::uint64_t blocks = wanted / static_cast<std::uint64_t>(shape.f_bsize);
        if (::ioctl(root.get(), ResizeExt4, &blocks) != 0) return system_error("enlarging the file system at " + directory);
        return {};
    }

    bool grows_mounted() override {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
        if (::syscall(SYS_capget, &header, sets) != 0) return false;
        return (sets[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective & CAP_TO_MASK(CAP_SYS_RESOURCE)) != 0;
    }

    Task<> grow_unmounted(std::string image, std::uint64_t bytes) override {
        CO_TRY_VOID(enlarge(image, bytes));
        CO_TRY_VOID(co_await run({"e2fsck", "-f", "-p", image}, Repaired));
        co_return co_await run({"resize2fs", image}, 0);
    }

    Result<bool> in_use(const std::string& image) override {
        struct stat status;
        if (::lstat(image.c_str(), &status) != 0) return errno == ENOENT ? Result<bool>(false) : system_error("looking at " + image);
        return find(status).has_value();
    }

private:
    Task<> run(std::vector<std::string> arguments, int highest_code) {
        const std::string program = arguments.front();
        Command command{.arguments = std::move(arguments), .limit = std::chrono::minutes(10)};
        command.environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        auto ended = co_await processes_.run(std::move(command));
        if (!ended) co_return std::move(ended).error().with_context("running the program " + program);
        if (ended->exit_code > highest_code)
            co_return Error(Reason::Io, "the program " + program + " failed: " + ended->output + ended->errors);
        co_return {};
    }

    /// Yields the size of the file then, which never shrinks.
    static Result<std::uint64_t> enlarge(const std::string& image, std::uint64_t bytes) {
        const OpenFile file(::open(image.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
        struct stat status;
        if (!file.is_open() || ::fstat(file.get(), &status) != 0) return system_error("opening " + image);
        const std::uint64_t wanted = std::max(bytes, static_cast<std::uint64_t>(status.st_size));
        if (::ftruncate(file.get(), static_cast<off_t>(wanted)) != 0) return system_error("enlarging " + image);
        return wanted;
    }

    static Result<void> make_file(const std::string& path, std::uint64_t bytes) {
        if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("removing " + path);
        const OpenFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file.is_open()) return system_error("making " + path);
        if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return system_error("making " + path);
        return {};
    }

    /// Programs that do not run as root shall be able to use the volume, and those that want an empty directory, such as databases, too.
    Result<void> open_to_everyone(const std::string& image) {
        const std::string directory = image + ForMaking;
        (void)::umount2(directory.c_str(), UMOUNT_NOFOLLOW);  // what an agent left that was killed here
        if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return system_error("making " + directory);
        TRY_VOID(mount(image, directory));
        Result<void> changed;
        if (::rmdir((directory + "/lost+found").c_str()) != 0 && errno != ENOENT) changed = system_error("emptying " + image);
        if (::chmod(directory.c_str(), 0777) != 0) changed = system_error("opening " + image + " to everyone");
        if (::umount2(directory.c_str(), UMOUNT_NOFOLLOW) != 0) return system_error("unmounting " + directory);
        if (::rmdir(directory.c_str()) != 0) return system_error("removing " + directory);
        return changed;
    }

    static Result<void> put_in_place(const std::string& fresh, const std::string& image) {
        {
            const OpenFile file(::open(fresh.c_str(), O_RDWR | O_CLOEXEC));
            if (!file.is_open() || ::fsync(file.get()) != 0) return system_error("writing " + fresh);
        }
        if (::rename(fresh.c_str(), image.c_str()) != 0) return system_error("renaming " + fresh);
        const OpenFile folder(::open(fs::path(image).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!folder.is_open() || ::fsync(folder.get()) != 0) return system_error("writing " + image);
        return {};
    }

    /// The device and inode of a file.
    using FileId = std::pair<std::uint64_t, std::uint64_t>;
    static std::optional<FileId> file_shown_by(const OpenFile& device) {
        loop_info64 info{};
        if (!device.is_open() || ::ioctl(device.get(), LOOP_GET_STATUS64, &info) != 0) return std::nullopt;
        return FileId{info.lo_device, info.lo_inode};
    }

    /// The loop device that shows the file already: attached by this agent, or by one before it. All devices are looked at once only, as
    /// there may be a thousand.
    std::optional<LoopDevice> find(const struct stat& file) {
        if (!std::exchange(looked_, true)) look_at_all();
        const auto known = attached_.find({file.st_dev, file.st_ino});
        if (known == attached_.end()) return std::nullopt;
        LoopDevice device{known->second, OpenFile(::open(known->second.c_str(), O_RDWR | O_CLOEXEC))};
        if (file_shown_by(device.descriptor) == known->first) return device;
        attached_.erase(known);  // freed with its last mount
        return std::nullopt;
    }

    void look_at_all() {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(LoopDevices, ignored)) {
            const std::string name = entry.path().filename(), path = "/dev/" + name;
            if (!name.starts_with("loop") || !fs::exists(entry.path() / "loop/backing_file", ignored)) continue;
            if (const auto file = file_shown_by(OpenFile(::open(path.c_str(), O_RDWR | O_CLOEXEC)))) attached_[*file] = path;
        }
    }

    void remember(const std::string& device, const struct stat& file) {
        std::erase_if(attached_, [&](const auto& one) { return one.second == device; });
        attached_[{file.st_dev, file.st_ino}] = device;
    }

    Result<LoopDevice> attach(const std::string& image) {
        const OpenFile file(::open(image.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
        struct stat status;
        if (!file.is_open() || ::fstat(file.get(), &status) != 0) return system_error("opening " + image);
        if (auto found = find(status)) return *std::move(found);
        const OpenFile control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
        if (!control.is_open()) return system_error("opening /dev/loop-control");
        for (int attempt = 0; attempt < Attempts; ++attempt) {
            const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
            if (number < 0) return system_error("finding a free loop device");
            LoopDevice device{"/dev/loop" + std::to_string(number), OpenFile()};
            device.descriptor = OpenFile(::open(device.path.c_str(), O_RDWR | O_CLOEXEC));
            if (!device.descriptor.is_open()) return system_error("opening " + device.path);
            loop_config config{};
            config.fd = static_cast<std::uint32_t>(file.get());
            config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
            std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), image.c_str(), LO_NAME_SIZE - 1);
            if (::ioctl(device.descriptor.get(), LOOP_CONFIGURE, &config) == 0) {
                remember(device.path, status);
                return device;
            }
            if (errno != EBUSY) return system_error("attaching " + image + " to " + device.path);
        }
        return Error(Reason::Io, "attaching " + image + ": other programs take every free loop device");
    }

    ProcessRunner& processes_;
    std::map<FileId, std::string> attached_;  ///< loop devices; some may have been freed
    bool looked_ = false;
};

}  // namespace

std::unique_ptr<ImageDisks> make_image_disks(ProcessRunner& processes) { return std::make_unique<LinuxImageDisks>(processes); }

}  // namespace porthole::kubelet
