#include "kubelet/volumes/csi/csi_volumes.h"

namespace porthole::kubelet {
namespace {

/// Volumes that a driver makes for one pod. Those of claims come by way of the claim.
class Csi final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/csi"; }
    bool supports(const core::Volume& volume) const override { return volume.csi.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        if (!services.csi) co_return Error(Reason::BadRequest, "CSI volumes are not supported on this node");
        co_return co_await services.csi->set_up(request, CsiVolume::of(*request.pod, request.volume), services);
    }

    Task<> tear_down(std::string uid, VolumeServices& services) override {
        if (!services.csi) co_return {};
        co_return co_await services.csi->tear_down(std::move(uid), services);
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_csi() { return std::make_unique<Csi>(); }

}  // namespace porthole::kubelet
