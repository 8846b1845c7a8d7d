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
        if (!request.pod->spec.host_users.value_or(true)) co_return co_await leave_to_runtime(std::move(request), services);
        CO_TRY(const auto mounts, services.mounter.mounts_below(request.directory));
        if (mounts.empty()) {
            CO_TRY_VOID(services.files.create_directories(request.directory, 0755));
            CO_TRY(std::string image, co_await services.images->pull(request.pod, *request.volume.image));
            CO_TRY_VOID(co_await services.images->mount(std::move(image), request.directory));
        }
        CO_TRY_VOID(services.mounter.make_read_only(request.directory));
        co_return MountedVolume{.path = request.directory, .read_only = true};
    }

private:
    /// The owners of an overlay of layers cannot be mapped, as those of the pod's other volumes are: the runtime maps those of the layers.
    /// Registries are asked once.
    static Task<MountedVolume> leave_to_runtime(VolumeRequest request, VolumeServices& services) {
        core::ImageVolumeSource source = *request.volume.image;
        const bool ready = request.is_ready(services.files);
        if (ready) source.pull_policy = "IfNotPresent";
        CO_TRY(std::string image, co_await services.images->pull(request.pod, std::move(source)));
        if (!ready) CO_TRY_VOID(request.set_ready(services.files));
        co_return MountedVolume{.image = std::move(image), .read_only = true};
    }
};

}  // namespace

std::unique_ptr<VolumePlugin> make_image() { return std::make_unique<Image>(); }

}  // namespace porthole::kubelet
