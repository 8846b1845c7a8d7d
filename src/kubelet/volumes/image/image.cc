#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {
namespace {

/// The files of an image, for reading only.
class Image final : public VolumePlugin {
public:
    const char* name() const override { return "kubernetes.io/image"; }
    bool supports(const core::Volume& volume) const override { return volume.image.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request, VolumeServices& services) override {
        if (!services.images) co_return Error(Reason::BadRequest, "image volumes are not supported on this node");
        CO_TRY(const auto mounts, services.mounter.mounts_below(request.directory));
        if (mounts.empty()) {
            CO_TRY_VOID(services.files.create_directories(request.directory, 0755));
            CO_TRY_VOID(co_await services.images->mount(request.pod, *request.volume.image, request.directory));
        }
        CO_TRY_VOID(services.mounter.make_read_only(request.directory));
        co_return MountedVolume{.path = request.directory, .read_only = true};
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_image() { return std::make_unique<Image>(); }

}  // namespace porthole::kubelet
