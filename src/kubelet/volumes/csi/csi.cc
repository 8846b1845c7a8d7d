#include "kubelet/volumes/csi/csi_volumes.h"
#include "objects/csi_translation.h"

namespace porthole::kubelet {
namespace {

/// Volumes that a driver makes for one pod, and disks and shares that pods name by the types of former in-tree plug-ins. Those of claims
/// come by way of the claim.
class Csi final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/csi"; }
    bool supports(const core::Volume& volume) const override { return volume.csi || !objects::in_tree_plugin_of(volume).empty(); }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        if (!services.csi) co_return Error(Reason::BadRequest, "CSI volumes are not supported on this node");
        CO_TRY(CsiVolume wanted, volume_of(request));
        co_return co_await services.csi->set_up(request, std::move(wanted), services);
    }

    Task<> tear_down(std::string uid, VolumeServices& services) override {
        if (!services.csi) co_return {};
        co_return co_await services.csi->tear_down(std::move(uid), services);
    }

private:
    /// What an in-tree name is translated to may be no name of a directory: the pod's own for it is.
    static Result<CsiVolume> volume_of(const VolumeRequest& request) {
        if (request.volume.csi) return CsiVolume::of(*request.pod, request.volume);
        TRY(const auto meant, objects::translated_to_csi(request.volume, request.pod->metadata.namespace_));
        CsiVolume wanted = CsiVolume::of(*meant, meant->spec.csi->read_only);
        wanted.name = request.volume.name;
        return wanted;
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_csi() { return std::make_unique<Csi>(); }

}  // namespace porthole::kubelet
