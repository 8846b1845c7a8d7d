#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/framework/plugin.h"
#include "kubelet/volumes/image/image_volumes.h"

namespace porthole::kubelet {
namespace {

/// The files of an image, for reading only.
class Image final : public VolumePlugin {
public:
    Image(const VolumeHost& host, ImageVolumes* images) : host_(host), images_(images) {}
    const char* name() const override { return "kubernetes.io/image"; }
    bool supports(const core::Volume& volume) const override { return volume.image.has_value(); }

    Task<MountedVolume> set_up(VolumeRequest request) override {
        if (!images_) co_return Error(Reason::BadRequest, "image volumes are not supported on this node");
        if (!request.pod->spec.host_users.value_or(true)) co_return co_await leave_to_runtime(std::move(request));
        CO_TRY(const auto mounts, host_.mounter.mounts_below(request.directory));
        if (mounts.empty()) {
            CO_TRY_VOID(host_.files.create_directories(request.directory, 0755));
            CO_TRY(std::string image, co_await images_->pull(request.pod, *request.volume.image));
            CO_TRY_VOID(co_await images_->mount(std::move(image), request.directory));
        }
        CO_TRY_VOID(host_.mounter.make_read_only(request.directory));
        co_return MountedVolume{.path = request.directory, .read_only = true};
    }

private:
    /// The owners of an overlay of layers cannot be mapped, as those of the pod's other volumes are: the runtime maps those of the layers.
    /// Registries are asked once.
    Task<MountedVolume> leave_to_runtime(VolumeRequest request) {
        core::ImageVolumeSource source = *request.volume.image;
        const bool ready = request.is_ready(host_.files);
        if (ready) source.pull_policy = "IfNotPresent";
        CO_TRY(std::string image, co_await images_->pull(request.pod, std::move(source)));
        if (!ready) CO_TRY_VOID(request.set_ready(host_.files));
        co_return MountedVolume{.image = std::move(image), .read_only = true};
    }

    const VolumeHost& host_;
    ImageVolumes* images_;  ///< null if there are none
};

}  // namespace

std::unique_ptr<VolumePlugin> make_image(const VolumeDependencies& given) {
    return std::make_unique<Image>(given.host, given.providers.images);
}

}  // namespace porthole::kubelet
