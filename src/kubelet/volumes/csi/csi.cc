#include "kubelet/volumes/csi/csi_volumes.h"
#include "objects/csi_translation.h"

namespace porthole::kubelet {
namespace {

/// Volumes that a driver makes for one pod, and disks and shares that pods name by the types of former in-tree plug-ins. Those of claims
/// come by way of the claim.
class Csi final : public VolumePlugin {
public:
    explicit Csi(CsiVolumes* volumes) : volumes_(volumes) {}
    const char* name() const override { return "kubernetes.io/csi"; }
    bool supports(const core::Volume& volume) const override { return volume.csi || !objects::in_tree_plugin_of(volume).empty(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        if (!volumes_) co_return Error(Reason::BadRequest, "CSI volumes are not supported on this node");
        CO_TRY(CsiVolume wanted, volume_of(request));
        co_return co_await volumes_->set_up(request, std::move(wanted));
    }

    Task<> tear_down(std::string uid) override {
        if (!volumes_) co_return {};
        co_return co_await volumes_->tear_down(std::move(uid));
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

    CsiVolumes* volumes_;  ///< null if drivers cannot register
};

}  // namespace

std::unique_ptr<VolumePlugin> make_csi(const VolumeDependencies& given) { return std::make_unique<Csi>(given.providers.csi); }

}  // namespace porthole::kubelet
