#include "kubelet/volumes/host_path/host_path.h"

namespace porthole::kubelet {
namespace {

/// A claim, or the claim that an ephemeral volume stands for, bound to a volume that is a directory of this node.
class PersistentVolumeClaim final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/local-volume"; }
    bool supports(const core::Volume& volume) const override {
        return volume.persistent_volume_claim.has_value() || volume.ephemeral.has_value();
    }

    Task<std::string> set_up(VolumeRequest request, VolumeServices& services) override {
        const std::string claim_name = request.volume.ephemeral ? request.pod->metadata.name + "-" + request.volume.name
                                                                : request.volume.persistent_volume_claim->claim_name;
        const client::NamespacedName key{request.pod->metadata.namespace_, claim_name};
        CO_TRY(const auto claim, co_await services.client.get<core::PersistentVolumeClaim>(key));
        if (request.volume.ephemeral && !owned_by(claim, *request.pod))
            co_return Error(Reason::BadRequest,
                            "PVC " + key.text() + " was not created for pod " + pod_key(*request.pod) + " (pod is not owner)");
        if (claim.status.phase != "Bound" || claim.spec.volume_name.empty())
            co_return Error(Reason::BadRequest, "PVC is not bound: " + key.text());
        CO_TRY(const auto volume, co_await services.client.get<core::PersistentVolume>({"", claim.spec.volume_name}));
        if (!volume.spec.claim_ref || volume.spec.claim_ref->uid != claim.metadata.uid)
            co_return Error(Reason::BadRequest,
                            "PVC " + key.text() + " is bound to PV " + volume.metadata.name + " that is bound to another claim");
        if (volume.spec.host_path) {
            const core::HostPathVolumeSource& source = *volume.spec.host_path;
            CO_TRY_VOID(check_host_path(services.files, source.path, source.type.value_or("")));
            co_return source.path;
        }
        if (volume.spec.local) {
            CO_TRY_VOID(check_host_path(services.files, volume.spec.local->path, core::HostPathType::Directory));
            if (const auto group = request.fs_group()) CO_TRY_VOID(apply_fs_group(services.files, volume.spec.local->path, *group, true));
            co_return volume.spec.local->path;
        }
        co_return Error(Reason::BadRequest, "this node has no plugin for the kind of volume that PV " + volume.metadata.name + " is");
    }

private:
    static bool owned_by(const core::PersistentVolumeClaim& claim, const core::Pod& pod) {
        for (const auto& owner : claim.metadata.owner_references)
            if (owner.uid == pod.metadata.uid) return true;
        return false;
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_persistent_volume_claim() { return std::make_unique<PersistentVolumeClaim>(); }

}  // namespace porthole::kubelet
