#include "kubelet/volumes/framework/plugin.h"

#include "runtime/worker_pool.h"

namespace porthole::kubelet {

std::string claim_of(const core::Pod& pod, const core::Volume& volume) {
    if (volume.ephemeral) return pod.metadata.name + "-" + volume.name;
    return volume.persistent_volume_claim ? volume.persistent_volume_claim->claim_name : "";
}

Task<> apply_fs_group(std::string path, std::shared_ptr<const core::Pod> pod, const VolumeHost& host) {
    const auto& security = pod->spec.security_context;
    if (!security || !security->fs_group) co_return {};
    const auto group = static_cast<std::uint32_t>(*security->fs_group);
    const bool only_if_needed = security->fs_group_change_policy.value_or("") == core::PodFSGroupChangePolicy::OnRootMismatch;
    co_return co_await run_blocking<void>(host.workers, [&files = host.files, path, group, only_if_needed]() -> Result<void> {
        if (only_if_needed) {
            TRY(const FileStatus root, files.link_status(path));
            const std::uint32_t wanted = root.is_directory() ? FileSystem::SharedFolder : FileSystem::SharedFile;
            if (root.gid == group && (root.mode & wanted) == wanted) return {};
        }
        return files.share_with_group(path, group);
    });
}

}  // namespace porthole::kubelet
