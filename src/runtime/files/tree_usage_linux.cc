#include "runtime/files/tree_usage_linux.h"

#include <sys/stat.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/files/open_directory_linux.h"

namespace porthole {
namespace {

/// Folders of these levels stay open. Whoever makes the tree may make more levels than there are descriptors.
constexpr std::size_t HeldLevels = 64;
/// What is deeper is not counted: the way back is remembered for each level.
constexpr std::size_t DeepestCounted = 1'000'000;

/// A file with several names is counted at each of them with its share, so that nothing has to be remembered of the others.
class UsageSum {
public:
    void add(const struct stat& found) {
        const double bytes = static_cast<double>(found.st_blocks) * 512;
        if (S_ISDIR(found.st_mode) || found.st_nlink <= 1) {
            whole_.bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
            ++whole_.inodes;
        } else {
            shared_bytes_ += bytes / static_cast<double>(found.st_nlink);
            shared_inodes_ += 1.0 / static_cast<double>(found.st_nlink);
        }
    }
    TreeSum total() const {
        return {whole_.bytes + static_cast<std::uint64_t>(std::llround(shared_bytes_)),
                whole_.inodes + static_cast<std::uint64_t>(std::llround(shared_inodes_))};
    }

private:
    TreeSum whole_;
    double shared_bytes_ = 0, shared_inodes_ = 0;
};

class TreeWalk {
public:
    std::optional<TreeSum> run(const char* path) {
        struct stat found;
        if (::fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
        device_ = found.st_dev;
        sum_.add(found);
        if (S_ISDIR(found.st_mode)) enter(AT_FDCWD, path);
        while (!levels_.empty()) step();
        return sum_.total();
    }

private:
    struct Level {
        Directory directory;  ///< null while a level far below is being counted
        ino_t inode = 0;
        long position = 0;  ///< where to go on, while it is not open
    };

    void step() {
        DIR* directory = levels_.back().directory.get();
        const dirent* entry = ::readdir(directory);
        if (!entry) return leave();
        const std::string_view name = entry->d_name;
        struct stat found;
        if (name == "." || name == "..") return;
        if (::fstatat(::dirfd(directory), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 || found.st_dev != device_) return;
        sum_.add(found);
        if (S_ISDIR(found.st_mode) && levels_.size() < DeepestCounted) enter(::dirfd(directory), entry->d_name);
    }

    void enter(int parent, const char* name) {
        Directory below = open_directory(parent, name);
        struct stat found;
        if (!below || ::fstat(::dirfd(below.get()), &found) != 0 || found.st_dev != device_) return;
        if (levels_.size() > HeldLevels) {
            Level& above = levels_.back();
            above.position = ::telldir(above.directory.get());
            above.directory.reset();
        }
        levels_.push_back({std::move(below), found.st_ino});
    }

    /// Back to the level above, which may have to be opened again.
    void leave() {
        const Level left = std::move(levels_.back());
        levels_.pop_back();
        if (levels_.empty() || levels_.back().directory) return;
        Level& above = levels_.back();
        Directory opened = open_directory(::dirfd(left.directory.get()), "..");
        struct stat found;
        if (opened && ::fstat(::dirfd(opened.get()), &found) == 0 && found.st_dev == device_ && found.st_ino == above.inode) {
            ::seekdir(opened.get(), above.position);
            above.directory = std::move(opened);
            return;
        }
        // It has been moved meanwhile. What is left of the levels that are not open may be anywhere.
        while (!levels_.back().directory) levels_.pop_back();
    }

    dev_t device_ = 0;
    UsageSum sum_;
    std::vector<Level> levels_;
};

}  // namespace

std::optional<TreeSum> tree_usage_by_descriptors(const std::string& path) { return TreeWalk().run(path.c_str()); }

}  // namespace porthole
