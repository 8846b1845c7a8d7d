#include "kubelet/volumes/block_devices/device_plugins.h"

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

constexpr int DefaultPort = 3260;

/// With its port, as iscsiadm and udev write it.
std::string with_port(const std::string& portal) {
    const std::size_t end = portal.find_last_of("]");  // of an IPv6 address
    return portal.find(':', end == portal.npos ? 0 : end) == portal.npos ? portal + ":" + std::to_string(DefaultPort) : portal;
}

std::string text(bool value) { return value ? "true" : ""; }

/// Of a pod's volume or of a PersistentVolume; all but the secret.
template <class Source>
DeviceVolume iscsi_volume(const Source& source) {
    DeviceVolume volume{.kind = "iscsi", .fs_type = source.fs_type, .read_only = source.read_only};
    std::string portals = with_port(source.target_portal);
    for (const std::string& portal : source.portals)
        if (const std::string more = with_port(portal); !("," + portals + ",").contains("," + more + ",")) portals += "," + more;
    volume.details = {{"portals", portals},
                      {"iqn", source.iqn},
                      {"lun", std::to_string(source.lun)},
                      {"interface", source.iscsi_interface.empty() ? "default" : source.iscsi_interface},
                      {"initiator", source.initiator_name.value_or("")},
                      {"chap_discovery", text(source.chap_auth_discovery)},
                      {"chap_session", text(source.chap_auth_session)}};
    return volume;
}

DeviceVolume fc_volume(const core::FCVolumeSource& source) {
    DeviceVolume volume{.kind = "fc", .fs_type = source.fs_type, .read_only = source.read_only};
    volume.details = {{"wwns", join(source.target_wwns, ",")},
                      {"wwids", join(source.wwids, ",")},
                      {"lun", source.lun ? std::to_string(*source.lun) : ""}};
    return volume;
}

Task<MountedVolume> set_up(const VolumeRequest& request, DeviceVolume volume, client::NamespacedName secret, VolumeServices& services) {
    if (!services.devices) co_return Error(Reason::BadRequest, volume.kind + " volumes are not supported on this node");
    if (!secret.name.empty()) {
        CO_TRY(const core::Secret found, co_await services.client.get<core::Secret>(secret));
        volume.secrets = found.data;
    }
    co_return co_await services.devices->set_up(request, std::move(volume), services);
}

class IscsiPlugin final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/iscsi"; }
    bool supports(const core::Volume& volume) const override { return volume.iscsi.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        const core::ISCSIVolumeSource& source = *request.volume.iscsi;
        const std::string secret = source.secret_ref ? source.secret_ref->name : "";
        co_return co_await kubelet::set_up(request, iscsi_volume(source), {request.pod->metadata.namespace_, secret}, services);
    }
};

class FibreChannelPlugin final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/fc"; }
    bool supports(const core::Volume& volume) const override { return volume.fc.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        co_return co_await kubelet::set_up(request, fc_volume(*request.volume.fc), {}, services);
    }
};

}  // namespace

bool is_on_device(const core::PersistentVolume& volume) { return volume.spec.iscsi.has_value() || volume.spec.fc.has_value(); }

Task<MountedVolume> set_up_device(const VolumeRequest& request, std::shared_ptr<const core::PersistentVolume> volume, bool read_only,
                                  std::string context, VolumeServices& services) {
    const auto& spec = volume->spec;
    DeviceVolume wanted = spec.iscsi ? iscsi_volume(*spec.iscsi) : fc_volume(*spec.fc);
    wanted.read_only |= read_only;
    wanted.is_block = spec.volume_mode == core::PersistentVolumeMode::Block;
    wanted.mount_options = spec.mount_options;
    wanted.context = std::move(context);
    client::NamespacedName secret;
    if (spec.iscsi && spec.iscsi->secret_ref) {
        const core::SecretReference& reference = *spec.iscsi->secret_ref;
        secret = {reference.namespace_.empty() ? request.pod->metadata.namespace_ : reference.namespace_, reference.name};
    }
    co_return co_await kubelet::set_up(request, std::move(wanted), std::move(secret), services);
}

std::unique_ptr<VolumePlugin> make_iscsi() { return std::make_unique<IscsiPlugin>(); }
std::unique_ptr<VolumePlugin> make_fc() { return std::make_unique<FibreChannelPlugin>(); }

}  // namespace porthole::kubelet
