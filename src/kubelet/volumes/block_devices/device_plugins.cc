#include "kubelet/volumes/block_devices/device_plugins.h"

#include "base/strings.h"
#include "client/client.h"

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

/// `devices`: null if the node has none.
Task<MountedVolume> set_up(const VolumeRequest& request, DeviceVolume volume, DeviceVolumes* devices) {
    if (!devices) co_return Error(Reason::BadRequest, volume.kind + " volumes are not supported on this node");
    co_return co_await devices->set_up(request, std::move(volume));
}

Task<std::map<std::string, std::string>> read_secret(client::Client& client, client::NamespacedName name) {
    CO_TRY(const core::Secret found, co_await client.get<core::Secret>(name));
    co_return found.data;
}

class IscsiPlugin final : public VolumePlugin {
public:
    IscsiPlugin(client::Client& client, DeviceVolumes* devices) : client_(client), devices_(devices) {}
    const char* name() const override { return "kubernetes.io/iscsi"; }
    bool supports(const core::Volume& volume) const override { return volume.iscsi.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        const core::ISCSIVolumeSource& source = *request.volume.iscsi;
        DeviceVolume wanted = iscsi_volume(source);
        if (source.secret_ref) {
            CO_TRY(wanted.secrets, co_await read_secret(client_, {request.pod->metadata.namespace_, source.secret_ref->name}));
        }
        co_return co_await kubelet::set_up(request, std::move(wanted), devices_);
    }

private:
    client::Client& client_;
    DeviceVolumes* devices_;
};

class FibreChannelPlugin final : public VolumePlugin {
public:
    explicit FibreChannelPlugin(DeviceVolumes* devices) : devices_(devices) {}
    const char* name() const override { return "kubernetes.io/fc"; }
    bool supports(const core::Volume& volume) const override { return volume.fc.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        co_return co_await kubelet::set_up(request, fc_volume(*request.volume.fc), devices_);
    }

private:
    DeviceVolumes* devices_;
};

}  // namespace

bool is_on_device(const core::PersistentVolume& volume) { return volume.spec.iscsi.has_value() || volume.spec.fc.has_value(); }

Task<MountedVolume> set_up_device(const VolumeRequest& request, std::shared_ptr<const core::PersistentVolume> volume, bool read_only,
                                  std::string context, client::Client& client, DeviceVolumes* devices) {
    const auto& spec = volume->spec;
    DeviceVolume wanted = spec.iscsi ? iscsi_volume(*spec.iscsi) : fc_volume(*spec.fc);
    wanted.read_only |= read_only;
    wanted.is_block = spec.volume_mode == core::PersistentVolumeMode::Block;
    wanted.mount_options = spec.mount_options;
    wanted.context = std::move(context);
    if (spec.iscsi && spec.iscsi->secret_ref) {
        const core::SecretReference& secret = *spec.iscsi->secret_ref;
        const std::string& namespace_ = secret.namespace_.empty() ? request.pod->metadata.namespace_ : secret.namespace_;
        CO_TRY(wanted.secrets, co_await read_secret(client, {namespace_, secret.name}));
    }
    co_return co_await kubelet::set_up(request, std::move(wanted), devices);
}

std::unique_ptr<VolumePlugin> make_iscsi(const VolumeDependencies& given) {
    return std::make_unique<IscsiPlugin>(given.api.client, given.providers.devices);
}
std::unique_ptr<VolumePlugin> make_fc(const VolumeDependencies& given) {
    return std::make_unique<FibreChannelPlugin>(given.providers.devices);
}

}  // namespace porthole::kubelet
