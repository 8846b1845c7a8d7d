#pragma once
#include "kubelet/images/image_mounts.h"
#include "kubelet/images/image_puller.h"
#include "kubelet/volumes/image/image_volumes.h"

namespace porthole::kubelet {

class ObjectSource;

/// Image volumes of pulled images. References must outlive it and its tasks.
class PulledImageVolumes final : public ImageVolumes {
public:
    PulledImageVolumes(ImagePuller& puller, ObjectSource& objects, ImageMounts& mounts)
        : puller_(puller), objects_(objects), mounts_(mounts) {}
    Task<std::string> pull(std::shared_ptr<const core::Pod> pod, core::ImageVolumeSource source) override;
    Task<> mount(std::string image, std::string directory) override { return mounts_.mount(std::move(image), std::move(directory)); }

private:
    ImagePuller& puller_;
    ObjectSource& objects_;
    ImageMounts& mounts_;
};

/// The images of the volumes of `pods`, by their canonical names: they must not be removed from the node.
std::set<std::string> images_of_volumes(const std::vector<std::shared_ptr<const core::Pod>>& pods);

}  // namespace porthole::kubelet
