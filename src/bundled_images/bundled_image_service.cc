#include "bundled_images/bundled_image_service.h"

namespace porthole::bundled_images {

Task<std::string> BundledImageService::id_of(std::string name) {
    cri::ImageStatusRequest request;
    request.image.emplace().image = std::move(name);
    CO_TRY(const auto status, co_await images_.image_status(std::move(request)));
    co_return status.image ? status.image->id : "";
}

Task<> BundledImageService::ensure(std::string name) {
    const BundledImage* image = find_bundled_image(name);
    if (!image) co_return Error(Reason::NotFound, "the program carries no image " + name);
    CO_TRY(const std::string id, co_await id_of(name));
    if (!id.empty()) co_return {};
    co_return co_await import_(*image);
}

Task<cri::PullImageResponse> BundledImageService::pull_image(cri::PullImageRequest request) {
    const std::string name = request.image ? request.image->image : "";
    if (!find_bundled_image(name)) co_return co_await images_.pull_image(std::move(request));
    CO_TRY_VOID(co_await ensure(name));
    CO_TRY(std::string id, co_await id_of(name));
    if (id.empty()) co_return Error(Reason::InternalError, "the runtime does not know " + name + " after its import");
    co_return cri::PullImageResponse{.image_ref = std::move(id)};
}

}  // namespace porthole::bundled_images
