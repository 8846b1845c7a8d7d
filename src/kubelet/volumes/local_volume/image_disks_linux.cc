#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "kubelet/volumes/local_volume/image_disks.h"
#include "runtime/files/loop_devices.h"
#include "runtime/files/mounts.h"

namespace porthole::kubelet {
namespace {

namespace fs = std::filesystem;

constexpr const char *Unfinished = ".new", *ForMaking = ".mounted";  // ends of names
constexpr int Repaired = 1;                                          // exit code of e2fsck
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
        TRY(const LoopDevice loop, loops_.attach(image));
        if (::mount(loop.path().c_str(), directory.c_str(), "ext4", MS_NODEV, nullptr) != 0)
            return system_error("mounting " + image + " at " + directory);
        return {};
    }

    Result<void> grow(const std::string& image, const std::string& directory, std::uint64_t bytes) override {
        TRY(const LoopDevice loop, loops_.attach(image));
        TRY(const std::uint64_t wanted, enlarge(image, bytes));
        TRY_VOID(loop.take_size_of_file());
        const OpenFile root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct statfs shape;
        if (!root.is_open() || ::fstatfs(root.get(), &shape) != 0) return system_error("looking at " + directory);
        std::uint64_t blocks = wanted / static_cast<std::uint64_t>(shape.f_bsize);
        if (::ioctl(root.get(), ResizeExt4, &blocks) != 0) return system_error("enlarging the file system at " + directory);
        return {};
    }

    bool grows_mounted() override { return may_enlarge_mounted(); }

    Task<> grow_unmounted(std::string image, std::uint64_t bytes) override {
        CO_TRY_VOID(enlarge(image, bytes));
        CO_TRY_VOID(co_await run({"e2fsck", "-f", "-p", image}, Repaired));
        co_return co_await run({"resize2fs", image}, 0);
    }

    Result<bool> in_use(const std::string& image) override {
        const auto shown = loops_.find(image);
        if (!shown && !is_not_found(shown)) return shown.error();
        return shown && shown->has_value();
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

    ProcessRunner& processes_;
    LoopDevices loops_;
};

}  // namespace

std::unique_ptr<ImageDisks> make_image_disks(ProcessRunner& processes) { return std::make_unique<LinuxImageDisks>(processes); }

}  // namespace porthole::kubelet
