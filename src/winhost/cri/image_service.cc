#include "winhost/cri/image_service.h"

#include "base/base64.h"
#include "kubelet/cri/image_info.h"

namespace porthole::winhost {
namespace {

namespace cri = api::cri::v1;

cri::Image image_of(const Image& image) {
    cri::Image result;
    result.id = image.id;
    result.repo_tags = image.repo_tags;
    result.repo_digests = image.repo_digests;
    result.size = image.size;
    result.username = image.config.user;
    result.pinned = image.pinned;
    cri::ImageSpec spec;
    spec.image = image.id;
    result.spec = std::move(spec);
    return result;
}

/// `auth` is "user:password" in base64.
Result<Credentials> credentials_of(const cri::AuthConfig& auth) {
    Credentials credentials{auth.username, auth.password, auth.identity_token, auth.registry_token};
    if (auth.auth.empty() || !credentials.username.empty()) return credentials;
    const auto plain = decode_base64(auth.auth);
    const std::size_t colon = plain ? plain->find(':') : std::string::npos;
    if (colon == std::string::npos) return Error(Reason::BadRequest, "invalid auth configuration for the registry");
    credentials.username = plain->substr(0, colon);
    credentials.password = plain->substr(colon + 1);
    return credentials;
}

class StoreImages final : public kubelet::ImageService {
public:
    StoreImages(EventLoop& loop, ImageStore& images, OsVersion host, std::string container_folder)
        : loop_(loop), images_(images), host_(host), container_folder_(std::move(container_folder)) {}

    Task<cri::ListImagesResponse> list_images(cri::ListImagesRequest request) override {
        cri::ListImagesResponse response;
        if (request.filter && request.filter->image && !request.filter->image->image.empty()) {
            if (const Image* image = images_.find(request.filter->image->image)) response.images.push_back(image_of(*image));
            co_return response;
        }
        for (const Image& image : images_.list()) response.images.push_back(image_of(image));
        co_return response;
    }

    Task<cri::ImageStatusResponse> image_status(cri::ImageStatusRequest request) override {
        cri::ImageStatusResponse response;
        if (!request.image) co_return Error(Reason::BadRequest, "an image is needed");
        const Image* image = images_.find(request.image->image);
        if (!image) co_return response;
        if (std::string why = mismatch_of(*image); !why.empty()) {
            if (request.verbose) response.info[std::string(kubelet::UnusableImage)] = std::move(why);
            co_return response;
        }
        response.image = image_of(*image);
        if (request.verbose) response.info["os.version"] = image->config.os_version;
        co_return response;
    }

    Task<cri::PullImageResponse> pull_image(cri::PullImageRequest request) override {
        if (!request.image) co_return Error(Reason::BadRequest, "an image is needed");
        Credentials credentials;
        if (request.auth) {
            CO_TRY(credentials, credentials_of(*request.auth));
        }
        auto image = co_await images_.pull(request.image->image, std::move(credentials));
        if (image) co_return cri::PullImageResponse{.image_ref = image->id};
        const Image* here = images_.find(request.image->image);
        const std::string why = here ? mismatch_of(*here) : "";
        co_return why.empty() ? std::move(image).error() : std::move(image).error().with_context(why + "; it cannot be pulled again");
    }

    Task<cri::RemoveImageResponse> remove_image(cri::RemoveImageRequest request) override {
        if (!request.image) co_return Error(Reason::BadRequest, "an image is needed");
        CO_TRY_VOID(co_await images_.remove(request.image->image));
        co_return cri::RemoveImageResponse{};
    }

    Task<cri::ImageFsInfoResponse> image_fs_info(cri::ImageFsInfoRequest request) override {
        CO_TRY(const ImageStore::Usage usage, co_await images_.usage());
        cri::FilesystemUsage images;
        images.timestamp = loop_.wall_now().time_since_epoch().count();
        images.fs_id = cri::FilesystemIdentifier{.mountpoint = usage.mountpoint};
        images.used_bytes = cri::UInt64Value{.value = usage.bytes};
        images.inodes_used = cri::UInt64Value{.value = usage.inodes};
        cri::FilesystemUsage containers = images;
        containers.fs_id = cri::FilesystemIdentifier{.mountpoint = container_folder_};
        cri::ImageFsInfoResponse response;
        response.image_filesystems.push_back(std::move(images));
        response.container_filesystems.push_back(std::move(containers));
        co_return response;
    }

private:
    std::string mismatch_of(const Image& image) const { return os_mismatch(image.config.os_version, host_); }

    EventLoop& loop_;
    ImageStore& images_;
    OsVersion host_;
    std::string container_folder_;
};

}  // namespace

std::unique_ptr<kubelet::ImageService> make_image_service(EventLoop& loop, ImageStore& images, OsVersion host,
                                                          std::string container_folder) {
    return std::make_unique<StoreImages>(loop, images, host, std::move(container_folder));
}

}  // namespace porthole::winhost
