#include "kubelet/volumes/flex_volume/flex_volumes.h"

namespace porthole::kubelet {
namespace {

class FlexVolumePlugin final : public VolumePlugin {
public:
    explicit FlexVolumePlugin(FlexVolumes* volumes) : volumes_(volumes) {}
    const char* name() const override { return "kubernetes.io/flexvolume"; }
    bool supports(const core::Volume& volume) const override { return volume.flex_volume.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        if (!volumes_) co_return Error(Reason::BadRequest, "FlexVolume drivers are not supported on this node");
        const core::FlexVolumeSource& source = *request.volume.flex_volume;
        const std::string secret = source.secret_ref ? source.secret_ref->name : "";
        co_return co_await volumes_->set_up(request, flex_volume_of(source, request.volume.name),
                                            {request.pod->metadata.namespace_, secret});
    }

    Task<> tear_down(std::string uid) override {
        if (!volumes_) co_return {};
        co_return co_await volumes_->tear_down(std::move(uid));
    }

private:
    FlexVolumes* volumes_;  ///< null if no programs run
};

}  // namespace

std::unique_ptr<VolumePlugin> make_flex_volume(const VolumeDependencies& given) {
    return std::make_unique<FlexVolumePlugin>(given.providers.flex);
}

}  // namespace porthole::kubelet
