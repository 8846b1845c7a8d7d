#include "kubelet/volumes/flex_volume/flex_volumes.h"

namespace porthole::kubelet {
namespace {

class FlexVolumePlugin final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/flexvolume"; }
    bool supports(const core::Volume& volume) const override { return volume.flex_volume.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        if (!services.flex) co_return Error(Reason::BadRequest, "FlexVolume drivers are not supported on this node");
        const core::FlexVolumeSource& source = *request.volume.flex_volume;
        const std::string secret = source.secret_ref ? source.secret_ref->name : "";
        co_return co_await services.flex->set_up(request, flex_volume_of(source, request.volume.name),
                                                 {request.pod->metadata.namespace_, secret}, services);
    }

    Task<> tear_down(std::string uid, VolumeServices& services) override {
        if (!services.flex) co_return {};
        co_return co_await services.flex->tear_down(std::move(uid));
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_flex_volume() { return std::make_unique<FlexVolumePlugin>(); }

}  // namespace porthole::kubelet
