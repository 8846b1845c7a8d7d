#pragma once
#include <functional>

#include "bundled_images/bundled_images.h"
#include "kubelet/cri/cri.h"

namespace porthole::bundled_images {

namespace cri = kubelet::cri;

/// The images of a runtime. Pulling an image that the program contains imports it instead. Such an image needs no registry, uses no space
/// on nodes that do not use it, and is imported again after it was removed, by an administrator or by image garbage collection.
class BundledImageService final : public kubelet::ImageService {
public:
    /// Brings the image into the runtime, under its name.
    using Import = std::function<Task<>(const BundledImage& image)>;
    /// `images` outlives this.
    BundledImageService(kubelet::ImageService& images, Import import) : images_(images), import_(std::move(import)) {}

    Task<cri::ListImagesResponse> list_images(cri::ListImagesRequest request) override { return images_.list_images(std::move(request)); }
    Task<cri::ImageStatusResponse> image_status(cri::ImageStatusRequest request) override {
        return images_.image_status(std::move(request));
    }
    Task<cri::PullImageResponse> pull_image(cri::PullImageRequest request) override;
    Task<cri::RemoveImageResponse> remove_image(cri::RemoveImageRequest request) override {
        return images_.remove_image(std::move(request));
    }
    Task<cri::ImageFsInfoResponse> image_fs_info(cri::ImageFsInfoRequest request) override {
        return images_.image_fs_info(std::move(request));
    }

    /// Imports the image of this name unless the runtime has it. Error: NotFound if the program carries none of this name.
    Task<> ensure(std::string name);

private:
    Task<std::string> id_of(std::string name);

    kubelet::ImageService& images_;
    Import import_;
};

}  // namespace porthole::bundled_images
