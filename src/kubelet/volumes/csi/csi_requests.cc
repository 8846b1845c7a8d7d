#include "kubelet/volumes/csi/csi_requests.h"

#include <algorithm>

namespace porthole::kubelet {
namespace {

using api::storage::v1::CSIDriver;
using AccessMode = core::PersistentVolumeAccessMode;
namespace csi = api::csi::v1;

constexpr const char* Persistent = "Persistent";
constexpr const char* Ephemeral = "Ephemeral";

csi::AccessModeMode access_mode(const CsiVolume& volume, const CsiCapabilities& capabilities) {
    using Mode = csi::AccessModeMode;
    const std::string wanted = volume.access_modes.empty() ? std::string(AccessMode::ReadWriteOnce) : volume.access_modes.front();
    const bool fine = capabilities.single_node_multi_writer;
    if (wanted == AccessMode::ReadWriteOnce) return fine ? Mode::SingleNodeMultiWriter : Mode::SingleNodeWriter;
    if (wanted == AccessMode::ReadWriteOncePod) return fine ? Mode::SingleNodeSingleWriter : Mode::SingleNodeWriter;
    if (wanted == AccessMode::ReadOnlyMany) return Mode::MultiNodeReaderOnly;
    if (wanted == AccessMode::ReadWriteMany) return Mode::MultiNodeMultiWriter;
    return Mode::Unknown;
}

}  // namespace

Result<void> check_lifecycle(const CsiVolume& volume, const CSIDriver* driver) {
    const std::string wanted = volume.is_ephemeral ? Ephemeral : Persistent;
    const std::string problem = "kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode \"" + wanted +
                                "\" not supported by driver " + volume.driver;
    if (!driver) return volume.is_ephemeral ? Result<void>(Error(Reason::BadRequest, problem + " (no CSIDriver object)")) : Result<void>();
    const auto& modes = driver->spec.volume_lifecycle_modes;
    if (std::ranges::find(modes, wanted) != modes.end()) return {};
    std::string list;
    for (const std::string& one : modes) list += (list.empty() ? "" : " ") + ("\"" + one + "\"");
    return Error(Reason::BadRequest, problem + " (only supports [" + list + "])");
}

bool attach_required(const CSIDriver* driver) { return !driver || driver->spec.attach_required.value_or(true); }

csi::VolumeCapability capability_of(const CsiVolume& volume, const CsiCapabilities& capabilities, std::optional<std::uint32_t> group) {
    csi::VolumeCapability capability;
    capability.access_mode.emplace().mode = access_mode(volume, capabilities);
    if (volume.is_block) {
        capability.block.emplace();
        return capability;
    }
    csi::MountVolume& mount = capability.mount.emplace();
    mount.fs_type = volume.fs_type;
    mount.mount_flags = volume.mount_options;
    if (group && capabilities.mount_group) mount.volume_mount_group = std::to_string(*group);
    return capability;
}

bool takes_fs_group(const CsiVolume& volume, const CSIDriver* driver, const CsiCapabilities& capabilities) {
    using Policy = api::storage::v1::FSGroupPolicy;
    if (capabilities.mount_group || volume.read_only || volume.is_block) return false;
    const std::string policy = driver ? driver->spec.fs_group_policy.value_or("") : "";
    if (policy == Policy::None) return false;
    if (policy == Policy::File) return true;
    if (volume.fs_type.empty()) return false;
    return volume.is_ephemeral || std::ranges::any_of(volume.access_modes, [](const std::string& one) {
               return one == AccessMode::ReadWriteOnce || one == AccessMode::ReadWriteOncePod;
           });
}

std::map<std::string, std::string> pod_info(const core::Pod& pod, bool is_ephemeral) {
    return {{"csi.storage.k8s.io/pod.name", pod.metadata.name},
            {"csi.storage.k8s.io/pod.namespace", pod.metadata.namespace_},
            {"csi.storage.k8s.io/pod.uid", pod.metadata.uid},
            {"csi.storage.k8s.io/serviceAccount.name", pod.spec.service_account_name},
            {"csi.storage.k8s.io/ephemeral", is_ephemeral ? "true" : "false"}};
}

}  // namespace porthole::kubelet
