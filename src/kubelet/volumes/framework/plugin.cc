#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

std::string claim_of(const core::Pod& pod, const core::Volume& volume) {
    if (volume.ephemeral) return pod.metadata.name + "-" + volume.name;
    return volume.persistent_volume_claim ? volume.persistent_volume_claim->claim_name : "";
}

Result<void> apply_fs_group(FileSystem& files, const std::string& path, std::uint32_t group, bool only_if_needed) {
    TRY(const FileStatus status, files.link_status(path));
    if (status.type == FileType::Symlink) return {};
    const std::uint32_t wanted = status.mode | (status.is_directory() ? 02770 : 0660);
    if (only_if_needed && status.gid == group && status.mode == wanted) return {};
    TRY_VOID(files.change_owner(path, std::nullopt, group));
    TRY_VOID(files.change_mode(path, wanted));
    if (!status.is_directory()) return {};
    TRY(const auto names, files.list(path));
    for (const std::string& name : names) TRY_VOID(apply_fs_group(files, path + "/" + name, group, false));
    return {};
}

}  // namespace porthole::kubelet
