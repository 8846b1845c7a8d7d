#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kubelet/volumes/framework/mounter.h"
#include "runtime/files/mounts.h"

namespace porthole::kubelet {
namespace {

Error mount_error(const std::string& what, int code = errno) {
    const Reason reason = code == ENOENT                                    ? Reason::NotFound
                          : code == EXDEV || code == ELOOP || code == EPERM ? Reason::Forbidden
                                                                            : Reason::Io;
    return Error(reason, what + ": " + std::strerror(code));
}

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }

private:
    int fd_;
};

class LinuxMounter final : public Mounter {
public:
    Result<void> mount_memory(const std::string& directory, std::uint64_t size_limit) override {
        const std::string options = size_limit ? "size=" + std::to_string(size_limit) : "";
        // Kernels before 6.4 cannot keep it out of the swap.
        if (mount_once("tmpfs", directory, options + (options.empty() ? "noswap" : ",noswap"))) return {};
        return mount_once("tmpfs", directory, options);
    }

    Result<void> mount_huge_pages(const std::string& directory, std::uint64_t page_size) override {
        return mount_once("hugetlbfs", directory, "pagesize=" + std::to_string(page_size));
    }

    Result<void> make_read_only(const std::string& directory) override {
        constexpr unsigned long Flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NODEV | MS_NOSUID;
        if (::mount(nullptr, directory.c_str(), nullptr, Flags, nullptr) != 0) return mount_error("making read-only " + directory);
        return {};
    }

    Result<std::string> bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target) override {
        const Descriptor base(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!base.is_open()) return mount_error("opening " + root);
        open_how how{};
        how.flags = O_PATH | O_CLOEXEC;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
        const Descriptor source(static_cast<int>(::syscall(SYS_openat2, base.get(), sub_path.c_str(), &how, sizeof how)));
        if (!source.is_open()) return mount_error("opening " + sub_path + " in " + root);
        struct stat status;
        if (::fstat(source.get(), &status) != 0) return mount_error("looking at " + sub_path);
        TRY_VOID(unmount(target));
        TRY_VOID(make_target(target, S_ISDIR(status.st_mode)));
        const std::string from = "/proc/self/fd/" + std::to_string(source.get());
        if (::mount(from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
            return mount_error("binding " + sub_path + " to " + target);
        return target;
    }

    Result<void> make_beneath(const std::string& root, const std::string& sub_path) override {
        const Descriptor base(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!base.is_open()) return mount_error("opening " + root);
        struct stat volume;
        if (::fstat(base.get(), &volume) != 0) return mount_error("looking at " + root);
        for (std::size_t start = 0; start < sub_path.size();) {
            const std::size_t end = std::min(sub_path.find('/', start), sub_path.size());
            if (end > start) TRY_VOID(make_one(base.get(), sub_path.substr(0, start), sub_path.substr(start, end - start), volume));
            start = end + 1;
        }
        return {};
    }

    Result<void> unmount(const std::string& target) override {
        if (::umount2(target.c_str(), UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) return {};
        // Still in use: take it out of the tree now, the kernel ends it when the last user goes.
        if (errno == EBUSY && ::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
        return mount_error("unmounting " + target);
    }

    Result<void> unmount_idle(const std::string& target) override {
        if (::umount2(target.c_str(), UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) return {};
        if (errno == EBUSY) return Error(Reason::Conflict, "unmounting " + target + ": it is in use");
        return mount_error("unmounting " + target);
    }

    Result<std::vector<std::string>> mounts_below(const std::string& directory) override { return porthole::mounts_below(directory); }

private:
    static Result<void> mount_once(const char* kind, const std::string& directory, const std::string& options) {
        TRY(const FileStatus there, make_file_system()->status(directory));
        if (there.is_mount_point) return {};
        if (::mount(kind, directory.c_str(), kind, MS_NOSUID | MS_NODEV, options.c_str()) != 0)
            return mount_error(std::string("mounting ") + kind + " at " + directory);
        return {};
    }

    /// Links inside the volume are followed as far as they stay in it; a directory just made is opened without following any, and
    /// changed through its descriptor.
    static Result<void> make_one(int base, const std::string& prefix, const std::string& name, const struct stat& volume) {
        open_how how{};
        how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
        const char* below = prefix.empty() ? "." : prefix.c_str();
        const Descriptor parent(static_cast<int>(::syscall(SYS_openat2, base, below, &how, sizeof how)));
        if (!parent.is_open()) return mount_error("opening " + prefix);
        if (::mkdirat(parent.get(), name.c_str(), 0700) != 0)
            return errno == EEXIST ? Result<void>() : mount_error("making " + prefix + name);
        const Descriptor made(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!made.is_open()) return mount_error("opening " + prefix + name);
        if (::fchown(made.get(), static_cast<uid_t>(-1), volume.st_gid) != 0) return mount_error("changing the group of " + prefix + name);
        if (::fchmod(made.get(), volume.st_mode & 07777) != 0) return mount_error("changing the mode of " + prefix + name);
        return {};
    }

    static Result<void> make_target(const std::string& target, bool directory) {
        const std::unique_ptr<FileSystem> files = make_file_system();
        if (directory) return files->create_directories(target, 0750);
        TRY_VOID(files->create_directories(parent_path(target), 0750));
        return files->write(target, "", 0640);
    }
};

}  // namespace

std::unique_ptr<Mounter> make_mounter() { return std::make_unique<LinuxMounter>(); }

}  // namespace porthole::kubelet
