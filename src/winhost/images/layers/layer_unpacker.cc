#include "winhost/images/layers/layer_unpacker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/strings.h"
#include "winhost/images/content/files.h"
#include "winhost/images/content/image.h"
#include "winhost/images/layers/layer_names.h"
#include "winhost/images/layers/tar_reader.h"

namespace porthole::winhost {
namespace {

constexpr std::string_view HiddenPrefix = ".wh.";
constexpr std::string_view OpaqueMark = ".wh..wh..opq";
constexpr std::string_view MetadataPrefix = ".wh..wh.";
constexpr std::size_t LongestName = 255, DeepestPath = 256;
constexpr mode_t Mode = 0755;

using Path = std::vector<std::string>;

Error invalid(const std::string& entry, const std::string& what) { return Error(Reason::Invalid, "entry \"" + entry + "\" " + what); }

bool same_name(std::string_view a, std::string_view b) { return fold_case(a) == fold_case(b); }

/// The components of an entry's name. Error: Invalid for one that is absolute or climbs.
Result<Path> split(const std::string& name) {
    if (name.starts_with('/')) return invalid(name, "is an absolute path");
    Path path;
    for (std::string_view rest = name; !rest.empty();) {
        const std::string_view part = rest.substr(0, rest.find('/'));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        if (part == "..") return invalid(name, "leads out of the layer");
        if (!part.empty() && part != ".") path.emplace_back(part);
    }
    if (path.size() > DeepestPath) return invalid(name, "is nested too deeply");
    return path;
}

Result<void> check_names(const std::string& entry, const Path& path) {
    for (const std::string& name : path) {
        const bool forbidden =
            std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || std::string_view("\\*?\"<>|").contains(c); });
        if (forbidden) return invalid(entry, "has a character that Windows does not allow in names");
        if (name.size() > LongestName) return invalid(entry, "has a name longer than " + std::to_string(LongestName) + " bytes");
    }
    return {};
}

class Unpacker {
public:
    Unpacker(ByteSource& tar, const LayerJob& job)
        : tar_(tar), job_(job), root_(job.folder + "/" + job.drive_path), names_(drives_of(job)) {}

    Result<LayerOutcome> run() {
        TRY_VOID(make_folders(root_));
        drive_ = FileDescriptor(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!drive_) return io_error("opening", root_);
        for (;;) {
            TRY(auto entry, tar_.next());
            if (!entry) break;
            TRY(const Path path, split(entry->name));
            if (path.empty()) continue;
            if (job_.lowers.empty() && is_part_of_windows(path)) {
                if (!job_.is_whole_image) return LayerOutcome{.is_base = true};
                passes_over_windows_ = true;
            }
            TRY_VOID(take(*entry, path));
            if (names_.count() > job_.most_names) return invalid(entry->name, "is one too many for a layer");
        }
        // What came before the first sign of Windows itself.
        if (passes_over_windows_) TRY_VOID(remove_tree(root_ + "/" + names_.spelling("", "windows")));
        return outcome_;
    }

private:
    static std::vector<std::string> drives_of(const LayerJob& job) {
        std::vector<std::string> drives;
        for (const auto* roots : {&job.lowers, &job.template_lowers}) {
            for (const std::string& root : *roots) drives.push_back(root + "/" + job.drive_path);
        }
        return drives;
    }

    /// Only the lowest layers of an image hold the kernel, whole registry hives, or what utility VMs boot from.
    static bool is_part_of_windows(const Path& path) {
        if (same_name(path[0], "UtilityVM")) return path.size() > 1;
        if (same_name(path[0], "Hives")) return path.size() == 2 && fold_case(path[1]).ends_with("_BASE");
        return path.size() == 4 && same_name(path[0], "Files") && same_name(path[1], "Windows") && same_name(path[2], "System32") &&
               (same_name(path[3], "ntoskrnl.exe") || same_name(path[3], "ntdll.dll"));
    }

    Result<void> take(const TarEntry& entry, Path path) {
        if (same_name(path[0], "Hives")) return keep_hive(entry, path);
        if (same_name(path[0], "UtilityVM")) return {};
        if (!same_name(path[0], "Files")) return invalid(entry.name, "is outside of Files/: this is not a layer of a Windows image");
        path.erase(path.begin());
        if (path.empty()) return {};
        if (passes_over_windows_ && same_name(path[0], "windows")) return {};
        if (path.back().contains(':')) return {};  // an alternate data stream, which Linux' file systems do not have
        TRY_VOID(check_names(entry.name, path));
        const std::string name = std::move(path.back());
        path.pop_back();
        TRY(const FileDescriptor folder, ensure_folders(entry.name, path));
        if (name.starts_with(HiddenPrefix)) return hide(entry.name, folder, path, name);
        const std::string spelled = names_.spelling(join(path, "/"), name);
        if (entry.type != TarEntry::Type::Folder && is_protected(path, spelled)) {
            ++outcome_.left_out;
            return {};
        }
        switch (entry.type) {
            case TarEntry::Type::Folder:
                return ensure_folder(entry.name, folder, path, spelled);
            case TarEntry::Type::File:
                return write_file(entry, folder, spelled);
            case TarEntry::Type::SymbolicLink:
                return make_link(entry, folder, path, spelled);
            case TarEntry::Type::HardLink:
                return make_hard_link(entry, folder, spelled);
            case TarEntry::Type::Other:
                return invalid(entry.name, "is neither file nor directory nor link");
        }
        return {};
    }

    /// Next to C:\, so that no file of the layer can have its path.
    Result<void> keep_hive(const TarEntry& entry, const Path& path) {
        if (path.size() != 2 || entry.type != TarEntry::Type::File || job_.drive_path.empty()) return {};
        for (const char* name : {SoftwareHive, SystemHive, DefaultUserHive}) {
            if (!same_name(path[1], name)) continue;
            if (entry.size > LargestHive) return leave_out();
            const std::string folder = job_.folder + "/" + HivesFolder;
            TRY_VOID(make_folders(folder));
            const FileDescriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            if (!at) return io_error("opening", folder);
            return write_file(entry, at, name);
        }
        return {};
    }

    /// Wine finds its own programs and libraries below C:\Windows by their signature: an image must not put others in their place.
    bool is_protected(const Path& folder, const std::string& name) const {
        if (folder.empty() ? !same_name(name, "windows") : !same_name(folder[0], "windows")) return false;
        const std::string path = "/" + job_.drive_path + "/" + join(folder, "/") + "/" + name;
        return std::ranges::any_of(job_.template_lowers, [&](const std::string& root) {
            struct stat status{};
            return ::lstat((root + path).c_str(), &status) == 0;
        });
    }

    /// Opens `path` below the drive, making what is missing; respells `path`. A link on the way is an error: nothing is written through it.
    Result<FileDescriptor> ensure_folders(const std::string& entry, Path& path) {
        FileDescriptor at(::fcntl(drive_.get(), F_DUPFD_CLOEXEC, 0));
        Path done;
        for (std::string& name : path) {
            name = names_.spelling(join(done, "/"), name);
            TRY_VOID(ensure_folder(entry, at, done, name));
            at = FileDescriptor(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (!at) return invalid(entry, "lies below \"" + name + "\", which is not a directory");
            done.push_back(name);
        }
        return at;
    }

    Result<void> ensure_folder(const std::string& entry, const FileDescriptor& parent, const Path& parent_path, const std::string& name) {
        if (::mkdirat(parent.get(), name.c_str(), Mode) == 0) return {};
        struct stat status{};
        if (errno != EEXIST || ::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return io_error("making", entry);
        if (S_ISDIR(status.st_mode)) return {};
        if (!is_hidden_mark(status)) return invalid(entry, "is a directory, but \"" + name + "\" is not");
        // Hidden and made anew: nothing of the old folder may show through.
        if (::unlinkat(parent.get(), name.c_str(), 0) != 0 || ::mkdirat(parent.get(), name.c_str(), Mode) != 0)
            return io_error("making", entry);
        Path path = parent_path;
        path.push_back(name);
        return make_opaque(path);
    }

    static bool is_hidden_mark(const struct stat& status) { return S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0); }

    Result<void> hide(const std::string& entry, const FileDescriptor& folder, const Path& path, const std::string& mark) {
        if (mark == OpaqueMark) return is_windows(path) ? leave_out() : make_opaque(path);
        if (mark.starts_with(MetadataPrefix)) return {};
        const std::string wanted = mark.substr(HiddenPrefix.size());
        if (wanted.empty() || wanted == "." || wanted == "..") return invalid(entry, "hides nothing");
        const std::string name = names_.spelling(join(path, "/"), wanted);
        if (is_protected(path, name)) return leave_out();
        if (::mknodat(folder.get(), name.c_str(), S_IFCHR, makedev(0, 0)) == 0 || errno == EEXIST) return {};  // the layer's own file wins
        return io_error("hiding", entry);
    }

    static bool is_windows(const Path& path) { return path.empty() || same_name(path[0], "windows"); }
    Result<void> leave_out() {
        ++outcome_.left_out;
        return {};
    }

    Result<void> make_opaque(const Path& path) {
        const std::string place = path.empty() ? root_ : root_ + "/" + join(path, "/");
        if (::lsetxattr(place.c_str(), "trusted.overlay.opaque", "y", 1, 0) != 0) return io_error("marking", place);
        return {};
    }

    /// An entry that comes again replaces what it was.
    Result<void> make_room(const std::string& entry, const FileDescriptor& folder, const std::string& name) {
        if (::unlinkat(folder.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
        if (errno == EISDIR) return invalid(entry, "is a directory in the same layer");
        return io_error("replacing", entry);
    }

    Result<void> write_file(const TarEntry& entry, const FileDescriptor& folder, const std::string& name) {
        TRY_VOID(make_room(entry.name, folder, name));
        const FileDescriptor file(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, Mode));
        if (!file) return io_error("making", entry.name);
        std::array<char, 64 << 10> buffer;
        for (;;) {
            TRY(const std::size_t count, tar_.read(buffer));
            if (count == 0) break;
            TRY_VOID(write_all(file.get(), {buffer.data(), count}, entry.name));
        }
        const std::timespec times[] = {entry.modified, entry.modified};
        ::futimens(file.get(), times);  // a time that the file system cannot hold is no reason to fail
        return {};
    }

    Result<void> make_link(const TarEntry& entry, const FileDescriptor& folder, const Path& path, const std::string& name) {
        TRY(const auto target, resolve_windows_link(path, entry.link_name));
        if (!target) return leave_out();
        std::string text;
        for (std::size_t i = 0; i < path.size(); ++i) text += "../";
        Path spelled;
        for (const std::string& part : *target) spelled.push_back(names_.spelling(join(spelled, "/"), part));
        text += join(spelled, "/");
        if (text.empty()) text = ".";
        TRY_VOID(make_room(entry.name, folder, name));
        if (::symlinkat(text.c_str(), folder.get(), name.c_str()) != 0) return io_error("linking", entry.name);
        return {};
    }

    Result<void> make_hard_link(const TarEntry& entry, const FileDescriptor& folder, const std::string& name) {
        TRY(Path target, split(entry.link_name));
        if (target.size() < 2 || !same_name(target[0], "Files")) return invalid(entry.name, "is a link to \"" + entry.link_name + "\"");
        target.erase(target.begin());
        TRY_VOID(check_names(entry.link_name, target));
        const std::string last = std::move(target.back());
        target.pop_back();
        TRY(const FileDescriptor there, ensure_folders(entry.link_name, target));
        const std::string spelled = names_.spelling(join(target, "/"), last);
        TRY_VOID(make_room(entry.name, folder, name));
        if (::linkat(there.get(), spelled.c_str(), folder.get(), name.c_str(), 0) == 0) return {};
        const bool is_windows_own = passes_over_windows_ && !target.empty() && same_name(target[0], "windows");
        if (errno == ENOENT && (is_windows_own || is_protected(target, spelled))) return leave_out();
        if (errno == ENOENT) return invalid(entry.name, "is a link to \"" + entry.link_name + "\", which the layer does not hold");
        return io_error("linking", entry.name);
    }

    TarReader tar_;
    const LayerJob& job_;
    std::string root_;
    LayerNames names_;
    FileDescriptor drive_;
    LayerOutcome outcome_;
    bool passes_over_windows_ = false;  ///< Windows itself was found in an image that is one layer
};

}  // namespace

Result<std::optional<std::vector<std::string>>> resolve_windows_link(const std::vector<std::string>& folder, std::string target) {
    std::ranges::replace(target, '\\', '/');
    std::string_view rest = target;
    for (const std::string_view prefix : {"//?/", "//./", "/?\?/"}) {
        if (!rest.starts_with(prefix)) continue;
        rest.remove_prefix(prefix.size());
        if (rest.size() < 2 || rest[1] != ':') return std::optional<Path>();  // a volume, a share
    }
    if (rest.starts_with("//")) return std::optional<Path>();
    Path path = folder;
    if (rest.size() >= 2 && rest[1] == ':') {
        if (!same_name(rest.substr(0, 1), "C")) return std::optional<Path>();
        rest.remove_prefix(2);
        path.clear();
    }
    if (rest.starts_with('/')) path.clear();
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, rest.find('/'));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        if (part.empty() || part == ".") continue;
        if (part != "..") {
            path.emplace_back(part);
            continue;
        }
        if (path.empty()) return invalid(target, "(a link's target) leads out of the drive");
        path.pop_back();
    }
    if (path.size() > DeepestPath) return invalid(target, "(a link's target) is nested too deeply");
    TRY_VOID(check_names(target, path));
    return std::optional(std::move(path));
}

Result<LayerOutcome> unpack_layer(ByteSource& tar, const LayerJob& job) { return Unpacker(tar, job).run(); }

}  // namespace porthole::winhost
