#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {
namespace {

/// Sets group, setgid and group permissions. Does not enter what is mounted below.
Result<void> give_to_group(FileSystem& files, const std::string& path, std::uint32_t group, bool only_if_needed, std::uint64_t device) {
    TRY(const FileStatus status, files.link_status(path));
    if (status.type == FileType::Symlink) return files.change_owner(path, std::nullopt, group);
    if (status.is_directory() && status.device != device) return {};
    const std::uint32_t wanted = status.mode | (status.is_directory() ? 02770 : 0660);
    if (only_if_needed && status.gid == group && status.mode == wanted) return {};
    TRY_VOID(files.change_owner(path, std::nullopt, group));
    TRY_VOID(files.change_mode(path, wanted));
    if (!status.is_directory()) return {};
    TRY(const auto names, files.list(path));
    for (const std::string& name : names) TRY_VOID(ignore_not_found(give_to_group(files, path + "/" + name, group, false, device)));
    return {};
}

}  // namespace

Result<void> apply_fs_group(FileSystem& files, const std::string& path, const core::Pod& pod) {
    const auto& security = pod.spec.security_context;
    if (!security || !security->fs_group) return {};
    const bool only_if_needed = security->fs_group_change_policy.value_or("") == core::PodFSGroupChangePolicy::OnRootMismatch;
    TRY(const FileStatus root, files.link_status(path));
    return give_to_group(files, path, static_cast<std::uint32_t>(*security->fs_group), only_if_needed, root.device);
}

}  // namespace porthole::kubelet
