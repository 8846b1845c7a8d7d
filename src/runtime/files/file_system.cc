#include "runtime/files/file_system.h"

#include <filesystem>

namespace porthole {
namespace {

// Windows takes both.
constexpr bool IsWindows = std::filesystem::path::preferred_separator == '\\';
constexpr std::string_view Separators = IsWindows ? "/\\" : "/";

bool is_separator(char c) { return Separators.find(c) != Separators.npos; }
bool is_drive(std::string_view path) { return IsWindows && path.size() == 2 && path[1] == ':'; }

/// Without separators at the end, but "/" and "C:/" stay.
std::string_view trimmed(std::string_view path) {
    while (path.size() > 1 && is_separator(path.back()) && !is_drive(path.substr(0, path.size() - 1))) path.remove_suffix(1);
    return path;
}

Result<void> remove_tree(FileSystem& files, const std::string& path, const FileStatus& found, std::uint64_t device) {
    if (found.is_mount_point || (found.is_directory() && found.device != device))
        return Error(Reason::Io, "will not remove " + path + ": something is mounted there");
    if (found.is_directory()) {
        TRY(const auto names, files.list(path));
        for (const std::string& name : names) {
            const std::string below = join_path(path, name);
            TRY(const FileStatus status, files.link_status(below));
            TRY_VOID(remove_tree(files, below, status, device));
        }
    }
    return files.remove(path);
}

void add_tree(FileSystem& files, const std::string& path, const FileStatus& found, std::uint64_t device, TreeUsage& sum) {
    sum.bytes += found.is_regular() ? found.size : 0;
    ++sum.inodes;
    if (!found.is_directory() || found.device != device) return;
    for (const std::string& name : files.list(path).value_or(std::vector<std::string>())) {
        const std::string below = join_path(path, name);
        if (const auto status = files.link_status(below)) add_tree(files, below, *status, device, sum);
    }
}

Result<void> share_tree(FileSystem& files, const std::string& path, std::uint32_t gid, std::uint64_t device) {
    TRY(const FileStatus found, files.link_status(path));
    if (found.is_directory() && found.device != device) return {};
    TRY_VOID(files.change_owner(path, std::nullopt, gid));
    if (found.type == FileType::Symlink) return {};
    TRY_VOID(files.change_mode(path, found.mode | (found.is_directory() ? FileSystem::SharedFolder : FileSystem::SharedFile)));
    if (!found.is_directory()) return {};
    TRY(const auto names, files.list(path));
    for (const std::string& name : names) TRY_VOID(ignore_not_found(share_tree(files, join_path(path, name), gid, device)));
    return {};
}

}  // namespace

Result<void> FileSystem::share_with_group(const std::string& path, std::uint32_t gid) {
    TRY(const FileStatus root, link_status(path));
    return share_tree(*this, path, gid, root.device);
}

Result<TreeUsage> FileSystem::tree_usage(const std::string& path) {
    TRY(const FileStatus root, link_status(path));
    TreeUsage sum;
    add_tree(*this, path, root, root.device, sum);
    return sum;
}

Result<void> FileSystem::remove_all(const std::string& path) {
    const Result<FileStatus> root = link_status(path);
    if (!root) return ignore_not_found(std::move(root));
    return remove_tree(*this, path, *root, root->device);
}

bool is_absolute_path(std::string_view path) {
    return (!path.empty() && is_separator(path[0])) || (path.size() > 2 && is_drive(path.substr(0, 2)) && is_separator(path[2]));
}

std::string join_path(std::string_view base, std::string_view part) {
    while (!part.empty() && is_separator(part[0])) part.remove_prefix(1);
    std::string joined(base);
    if (part.empty()) return joined;
    if (joined.empty() || !is_separator(joined.back())) joined += '/';
    return joined.append(part);
}

std::string parent_path(std::string_view path) {
    path = trimmed(path);
    const std::size_t slash = path.find_last_of(Separators);
    if (slash == std::string_view::npos) return ".";
    const bool at_root = slash == 0 || is_drive(path.substr(0, slash));
    return std::string(path.substr(0, at_root ? slash + 1 : slash));
}

std::string base_name(std::string_view path) {
    path = trimmed(path);
    return std::string(path.substr(path.find_last_of(Separators) + 1));
}

}  // namespace porthole
