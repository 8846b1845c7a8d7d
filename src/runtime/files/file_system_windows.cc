#include <windows.h>

#include <winioctl.h>

#include <algorithm>
#include <cstring>

#include "base/result.h"
#include "base/wide_windows.h"
#include "runtime/files/file_system.h"
#include "runtime/files/file_system_windows.h"
#include "runtime/files/wine_links_windows.h"
#include "runtime/handle_windows.h"

namespace porthole {

using namespace windows_files;

namespace windows_files {

/// Paths beyond 259 characters only work in their verbatim form, in which Windows does not touch slashes and dots.
std::wstring native_path(const std::string& path) {
    constexpr std::size_t LongestPlain = 240;
    std::wstring wide = to_wide(path);
    std::ranges::replace(wide, L'/', L'\\');
    const bool has_drive = wide.size() > 2 && wide[1] == L':' && wide[2] == L'\\';
    if (wide.size() > LongestPlain && has_drive && wide.find(L"\\..") == wide.npos) wide.insert(0, L"\\\\?\\");
    return wide;
}

Error file_error(const char* what, const std::string& path, DWORD code) { return windows_error(std::string(what) + " " + path, code); }

}  // namespace windows_files

namespace {

constexpr DWORD ShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr std::uint32_t OthersBits = 0077;

Handle open_for(const std::string& path, DWORD access, DWORD disposition, DWORD flags) {
    return Handle(CreateFileW(native_path(path).c_str(), access, ShareAll, nullptr, disposition, flags, nullptr));
}

bool is_private(std::uint32_t mode) { return (mode & OthersBits) == 0; }

/// A new file. Nobody else can open a private one before it is written.
Handle create_for(const std::string& path, std::uint32_t mode) {
    const DWORD share = is_private(mode) ? 0 : ShareAll;
    return Handle(CreateFileW(native_path(path).c_str(), GENERIC_WRITE, share, is_private(mode) ? private_attributes() : nullptr,
                              CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
}

constexpr std::uint64_t joined(DWORD high, DWORD low) { return std::uint64_t{high} << 32 | low; }

/// FILETIME counts 100 ns since 1601.
std::chrono::sys_time<std::chrono::nanoseconds> time_of(const FILETIME& time) {
    constexpr std::int64_t Between1601And1970 = 11'644'473'600;
    const auto ticks = static_cast<std::int64_t>(joined(time.dwHighDateTime, time.dwLowDateTime));
    return std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds((ticks - Between1601And1970 * 10'000'000) * 100));
}

constexpr DWORD SocketTag = 0x80000023;  // IO_REPARSE_TAG_AF_UNIX, which is not in every header

bool is_link_tag(DWORD tag) { return tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT; }

FileType linux_type(std::uint32_t type) {
    return type == wine_links::Link              ? FileType::Symlink
           : type == wine_links::Pipe            ? FileType::Pipe
           : type == wine_links::CharacterDevice ? FileType::CharacterDevice
                                                 : FileType::BlockDevice;
}

/// Modes are Windows' own: what is not read-only may be written and run by whom its access list names.
std::uint32_t mode_of(DWORD attributes) {
    const std::uint32_t all = attributes & FILE_ATTRIBUTE_DIRECTORY ? 0777 : 0666;
    return attributes & FILE_ATTRIBUTE_READONLY ? all & 0555 : all;
}

Result<FileStatus> status_of(const Handle& file, const std::string& path, bool may_be_link) {
    BY_HANDLE_FILE_INFORMATION from;
    if (!GetFileInformationByHandle(file.get(), &from)) return file_error("stat", path);
    FILE_ATTRIBUTE_TAG_INFO tag{};
    if (may_be_link && from.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) {
        GetFileInformationByHandleEx(file.get(), FileAttributeTagInfo, &tag, sizeof tag);
    }
    FileStatus status;
    status.type = is_link_tag(tag.ReparseTag)                        ? FileType::Symlink
                  : tag.ReparseTag == SocketTag                      ? FileType::Socket
                  : from.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? FileType::Directory
                                                                     : FileType::Regular;
    status.mode = mode_of(from.dwFileAttributes);
    status.size = joined(from.nFileSizeHigh, from.nFileSizeLow);
    status.device = from.dwVolumeSerialNumber;
    status.inode = joined(from.nFileIndexHigh, from.nFileIndexLow);
    status.modified = time_of(from.ftLastWriteTime);
    return status;
}

/// The part of REPARSE_DATA_BUFFER that carries a link's target; the header that has it is the driver kit's.
struct ReparseData {
    ULONG tag;
    USHORT data_length, reserved;
    USHORT substitute_offset, substitute_length, print_offset, print_length;
    union {
        struct {
            ULONG flags;
            WCHAR text[1];
        } symlink;
        struct {
            WCHAR text[1];
        } mount_point;
    };
};

std::string link_target(const ReparseData& data) {
    const WCHAR* text = data.tag == IO_REPARSE_TAG_SYMLINK ? data.symlink.text : data.mount_point.text;
    const bool has_print = data.print_length > 0;
    std::wstring_view target(text + (has_print ? data.print_offset : data.substitute_offset) / sizeof(WCHAR),
                             (has_print ? data.print_length : data.substitute_length) / sizeof(WCHAR));
    if (target.starts_with(L"\\??\\")) target.remove_prefix(4);
    return to_utf8(target);
}

class WindowsFileSystem final : public FileSystem {
public:
    Result<std::string> read(const std::string& path, std::size_t limit) override {
        TRY(std::string text, read_at(path, 0, limit + 1));
        if (text.size() > limit) return Error(Reason::RequestEntityTooLarge, "file " + path + " is too large");
        return text;
    }

    Result<std::string> read_at(const std::string& path, std::uint64_t offset, std::size_t count) override {
        const Handle file = open_for(path, GENERIC_READ, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL);
        if (!file) return file_error("open", path);
        return read_open(file, path, offset, count);
    }

    /// Links are followed, so the file that was opened has to be the one that the path names afterwards.
    Result<std::string> read_untrusted(const std::string& path, std::uint64_t offset, std::size_t count) override {
        TRY(FileStatus named, link_status(path));
        if (!named.is_regular()) return Error(Reason::Forbidden, path + " is not a regular file");
        const Handle file = open_for(path, GENERIC_READ, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL);
        if (!file) return file_error("open", path);
        TRY(const FileStatus opened, status_of(file, path, false));
        TRY(named, link_status(path));
        if (!named.is_regular() || opened.inode != named.inode || opened.device != named.device)
            return Error(Reason::Forbidden, path + " is not a regular file");
        return read_open(file, path, offset, count);
    }

    static Result<std::string> read_open(const Handle& file, const std::string& path, std::uint64_t offset, std::size_t count) {
        LARGE_INTEGER start;
        start.QuadPart = static_cast<LONGLONG>(offset);
        if (!SetFilePointerEx(file.get(), start, nullptr, FILE_BEGIN)) return file_error("read", path);
        std::string text;
        while (text.size() < count) {
            const std::size_t before = text.size(), step = std::min<std::size_t>(count - before, 256 << 10);
            text.resize(before + step);
            DWORD got = 0;
            const BOOL done = ReadFile(file.get(), text.data() + before, static_cast<DWORD>(step), &got, nullptr);
            text.resize(before + got);
            if (!done) return file_error("read", path);
            if (got == 0) break;
        }
        return text;
    }

    Result<void> write(const std::string& path, std::string_view contents, std::uint32_t mode) override {
        return write_file(path, contents, mode, false);
    }

    Result<void> write_file(const std::string& path, std::string_view contents, std::uint32_t mode, bool flush) {
        Handle file = create_for(path, mode);
        if (!file && GetLastError() == ERROR_FILE_EXISTS) file = open_for(path, GENERIC_WRITE, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL);
        return write_to(file, path, contents, mode, flush);
    }

    static Result<void> write_to(const Handle& file, const std::string& path, std::string_view contents, std::uint32_t mode, bool flush) {
        if (!file) return file_error("open", path);
        if (!SetEndOfFile(file.get())) return file_error("write", path);
        if (is_private(mode)) TRY_VOID(keep_private(path));  // before the contents, which may be secret
        while (!contents.empty()) {
            DWORD count = 0;
            const auto step = static_cast<DWORD>(std::min<std::size_t>(contents.size(), 1 << 20));
            if (!WriteFile(file.get(), contents.data(), step, &count, nullptr)) return file_error("write", path);
            contents.remove_prefix(count);
        }
        if (flush && !FlushFileBuffers(file.get())) return file_error("flush", path);
        return {};
    }

    Result<void> replace(const std::string& path, std::string_view contents, std::uint32_t mode) override {
        const std::string fresh = path + ".new";
        TRY_VOID(ignore_not_found(remove(fresh)));  // with its list, and from whoever has it open
        {
            const Handle file = create_for(fresh, mode);
            TRY_VOID(write_to(file, fresh, contents, mode, true));
        }
        return rename(fresh, path);  // writes through
    }

    Result<void> create_directories(const std::string& path, std::uint32_t mode) override {
        SECURITY_ATTRIBUTES* const attributes = is_private(mode) ? private_attributes() : nullptr;
        if (CreateDirectoryW(native_path(path).c_str(), attributes)) return change_mode(path, mode);
        const DWORD code = GetLastError();
        const std::string above = parent_path(path);
        if (code == ERROR_PATH_NOT_FOUND && above != path && above != ".") {
            TRY_VOID(create_directories(above, 0755));
            if (!CreateDirectoryW(native_path(path).c_str(), attributes)) return file_error("mkdir", path);
            return change_mode(path, mode);
        }
        // A drive's root answers "access denied" rather than "exists".
        const Result<FileStatus> there = status(path);
        if (!there) return file_error("mkdir", path, code);
        if (!there->is_directory()) return Error(Reason::AlreadyExists, "mkdir " + path + ": a file is there");
        return {};
    }

    Result<void> remove(const std::string& path) override {
        const std::wstring native = native_path(path);
        if (wine_links::status(native)) {
            if (!wine_links::remove(native)) return Error(Reason::Io, "remove " + path + ": Linux does not remove it");
            return {};
        }
        const DWORD attributes = GetFileAttributesW(native.c_str());
        if (attributes == INVALID_FILE_ATTRIBUTES) return file_error("remove", path);
        if (attributes & FILE_ATTRIBUTE_READONLY) SetFileAttributesW(native.c_str(), attributes & ~FILE_ATTRIBUTE_READONLY);
        const BOOL done = attributes & FILE_ATTRIBUTE_DIRECTORY ? RemoveDirectoryW(native.c_str()) : DeleteFileW(native.c_str());
        if (!done) return file_error("remove", path);
        return {};
    }

    Result<void> rename(const std::string& from, const std::string& to) override {
        const std::wstring native_from = native_path(from), native_to = native_path(to);
        constexpr DWORD Flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
        if (MoveFileExW(native_from.c_str(), native_to.c_str(), Flags)) return {};
        const DWORD code = GetLastError();
        // A link to a directory, or an empty directory, is not replaced by MoveFileEx: it goes first. A reader may find
        // nothing for that moment, which is what Kubernetes accepts of volumes on Windows too.
        const DWORD attributes = GetFileAttributesW(native_to.c_str());
        const bool in_the_way = attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
        if (!in_the_way || GetFileAttributesW(native_from.c_str()) == INVALID_FILE_ATTRIBUTES || !RemoveDirectoryW(native_to.c_str())) {
            return file_error("rename", from, code);
        }
        if (!MoveFileExW(native_from.c_str(), native_to.c_str(), Flags)) return file_error("rename", from);
        return {};
    }

    Result<void> create_symlink(const std::string& target, const std::string& path) override {
        const bool is_absolute = target.size() > 1 && (target[1] == ':' || target.starts_with("\\\\"));
        const std::string resolved = is_absolute ? target : join_path(parent_path(path), target);
        const DWORD attributes = GetFileAttributesW(native_path(resolved).c_str());
        DWORD flags = SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE;
        if (attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY) flags |= SYMBOLIC_LINK_FLAG_DIRECTORY;
        std::wstring native_target = to_wide(target);
        std::ranges::replace(native_target, L'/', L'\\');
        if (!CreateSymbolicLinkW(native_path(path).c_str(), native_target.c_str(), flags)) return file_error("symlink", path);
        // Wine says that it has made one, and has not.
        if (GetFileAttributesW(native_path(path).c_str()) == INVALID_FILE_ATTRIBUTES)
            return Error(Reason::MethodNotAllowed, "symlink " + path + ": this system does not support links");
        return {};
    }

    Result<std::string> read_link(const std::string& path) override {
        const Handle link = open_for(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
        if (!link) return file_error("readlink", path);
        alignas(ReparseData) char buffer[MAXIMUM_REPARSE_DATA_BUFFER_SIZE];
        DWORD size = 0;
        if (!DeviceIoControl(link.get(), FSCTL_GET_REPARSE_POINT, nullptr, 0, buffer, sizeof buffer, &size, nullptr)) {
            return file_error("readlink", path);
        }
        const auto& data = *reinterpret_cast<const ReparseData*>(buffer);
        if (!is_link_tag(data.tag)) return Error(Reason::Io, "readlink " + path + ": not a link");
        return link_target(data);
    }

    Result<std::string> real_path(const std::string& path) override {
        const Handle file = open_for(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
        if (!file) return file_error("resolve", path);
        std::wstring resolved(32768, L'\0');
        const DWORD size =
            GetFinalPathNameByHandleW(file.get(), resolved.data(), static_cast<DWORD>(resolved.size()), FILE_NAME_NORMALIZED);
        if (size == 0 || size > resolved.size()) return file_error("resolve", path);
        resolved.resize(size);
        std::wstring_view text(resolved);
        if (text.starts_with(L"\\\\?\\") && !text.starts_with(L"\\\\?\\UNC")) text.remove_prefix(4);
        return to_utf8(text);
    }

    Result<FileStatus> status(const std::string& path) override {
        const Handle file = open_for(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
        if (!file) return file_error("stat", path);
        return status_of(file, path, false);
    }

    Result<FileStatus> link_status(const std::string& path) override {
        if (const auto found = wine_links::status(native_path(path))) {
            FileStatus status{.type = linux_type(found->type), .mode = 0777};
            status.device = found->device;
            status.inode = found->inode;
            return status;
        }
        const Handle file = open_for(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
        if (!file) return file_error("stat", path);
        return status_of(file, path, true);
    }

    Result<std::vector<std::string>> list(const std::string& path) override {
        WIN32_FIND_DATAW found;
        const HANDLE search = FindFirstFileW(native_path(join_path(path, "*")).c_str(), &found);
        if (search == INVALID_HANDLE_VALUE) return file_error("open", path);
        std::vector<std::string> names;
        do {
            std::string name = to_utf8(found.cFileName);
            if (name != "." && name != "..") names.push_back(std::move(name));
        } while (FindNextFileW(search, &found));
        FindClose(search);
        std::ranges::sort(names);
        return names;
    }

    /// Windows has access lists, not modes: what is closed to group and others becomes private, anything else keeps the
    /// list that it inherits.
    Result<void> change_mode(const std::string& path, std::uint32_t mode) override {
        if (is_private(mode)) return keep_private(path);
        return {};
    }

    /// Owners by number are Linux'; pods that ask for one are refused before.
    Result<void> change_owner(const std::string&, std::optional<std::uint32_t>, std::optional<std::uint32_t>) override { return {}; }

    /// The directory last: one that is closed is so with everything below it, whenever the process ended.
    Result<void> restrict_to_administrators(const std::string& directory, const std::vector<std::string>& readers) override {
        TRY(const bool restricted, is_restricted(directory));
        if (restricted) return {};
        std::vector<std::vector<std::byte>> sids;
        for (const std::string& account : readers) {
            TRY(sids.emplace_back(), sid_of(account));
        }
        TRY(auto paths, tree(directory));
        for (; !paths.empty(); paths.pop_back()) TRY_VOID(windows_files::restrict_to_administrators(paths.back(), sids));
        return {};
    }

    Result<void> allow_reading(const std::string& directory, const std::string& account) override {
        TRY(const std::vector<std::byte> sid, sid_of(account));
        TRY(const auto paths, tree(directory));
        for (const std::string& path : paths) TRY_VOID(let_read(path, sid));
        return {};
    }

    /// The directory and what is below, each after the one that it is in. Links are left out: they lead to what is here as well; so are
    /// sockets, which cannot be opened for their access list.
    Result<std::vector<std::string>> tree(const std::string& directory) {
        std::vector<std::string> paths, open{directory};
        while (!open.empty()) {
            const std::string path = std::move(open.back());
            open.pop_back();
            TRY(const FileStatus there, link_status(path));
            if (there.type == FileType::Symlink || there.type == FileType::Socket) continue;
            paths.push_back(path);
            if (!there.is_directory()) continue;
            TRY(const auto names, list(path));
            for (const std::string& name : names) open.push_back(join_path(path, name));
        }
        return paths;
    }

    Result<FileSystemUsage> usage(const std::string& path) override {
        ULARGE_INTEGER available, capacity, free;
        if (!GetDiskFreeSpaceExW(native_path(path).c_str(), &available, &capacity, &free)) return file_error("space of", path);
        return FileSystemUsage{.capacity = capacity.QuadPart, .available = available.QuadPart};
    }
};

}  // namespace

std::unique_ptr<FileSystem> make_file_system() { return std::make_unique<WindowsFileSystem>(); }

}  // namespace porthole
