#include "runtime/files/tree_removal_linux.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "runtime/files/open_directory_linux.h"

namespace porthole {
namespace {

/// Each level takes a descriptor and some of the stack. What is deeper is moved up first.
constexpr int DeepestLevel = 64;

std::string path_of(const std::string& above, const char* name) { return above.empty() ? name : above + "/" + name; }

Error removal_error(const std::string& above, const char* name) {
    const Reason reason = errno == EACCES || errno == EPERM ? Reason::Forbidden : Reason::Io;
    const std::string why = std::strerror(errno);
    return Error(reason, "remove " + path_of(above, name) + ": " + why);
}

/// Of one tree; on an error the rest stays.
class TreeRemoval {
public:
    /// `name` in the directory `parent`, whose path is `above`, for messages. Success if it is not there.
    Result<void> remove(int parent, const std::string& above, const char* name) {
        struct statx found;
        if (::statx(parent, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) != 0)
            return errno == ENOENT || errno == ENOTDIR ? Result<void>() : removal_error(above, name);
        const bool is_directory = S_ISDIR(found.stx_mode);
        const dev_t device = makedev(found.stx_dev_major, found.stx_dev_minor);
        if (!device_) device_ = device;
        if ((found.stx_attributes & STATX_ATTR_MOUNT_ROOT) || (is_directory && device != *device_))
            return Error(Reason::Io, "will not remove " + path_of(above, name) + ": something is mounted there");
        if (::unlinkat(parent, name, is_directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) return {};
        if (!is_directory || (errno != ENOTEMPTY && errno != EEXIST)) return removal_error(above, name);
        if (level_ == DeepestLevel) return move_up(parent, above, name);

        const Directory own = open_directory(parent, name);
        if (!own) return errno == ENOENT ? Result<void>() : removal_error(above, name);
        if (level_++ == 0) top_ = ::dirfd(own.get());
        auto emptied = empty(own.get(), path_of(above, name));
        --level_;
        TRY_VOID(emptied);
        if (::unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) return removal_error(above, name);
        return {};
    }

private:
    Result<void> empty(DIR* directory, const std::string& path) {
        std::uint64_t moved = 0;
        do {
            moved = moved_;
            while (const dirent* entry = ::readdir(directory)) {
                const std::string_view name(entry->d_name);
                if (name != "." && name != "..") TRY_VOID(remove(::dirfd(directory), path, entry->d_name));
            }
            ::rewinddir(directory);
        } while (level_ == 1 && moved_ != moved);
        return {};
    }

    /// To a name of the top directory that is free: whoever made the tree may have taken some.
    Result<void> move_up(int parent, const std::string& above, const char* name) {
        for (;;) {
            const std::string moved = ".removed-" + std::to_string(++moved_);
            if (::renameat(parent, name, top_, moved.c_str()) == 0) return {};
            if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return removal_error(above, name);
        }
    }

    int level_ = 0;
    int top_ = -1;
    std::optional<dev_t> device_;
    std::uint64_t moved_ = 0;
};

}  // namespace

Result<void> remove_tree_by_descriptors(const std::string& path) { return TreeRemoval().remove(AT_FDCWD, "", path.c_str()); }

}  // namespace porthole
