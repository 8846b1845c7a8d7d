#include "bundled_images/bundled_images.h"

namespace porthole::bundled_images {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Pause[] = {
#embed "pause.tar"
};
constexpr char Web[] = {
#embed "web.tar"
};

constexpr BundledImage Images[] = {{PauseImage, {Pause, sizeof Pause}}, {WebImage, {Web, sizeof Web}}};

}  // namespace

const BundledImage* find_bundled_image(std::string_view name) {
    for (const BundledImage& image : Images) {
        if (image.name == name) return &image;
    }
    return nullptr;
}

Duration import_limit(std::uintmax_t bytes) {
    constexpr std::uintmax_t Mebibyte = 1 << 20;
    return std::chrono::minutes(10) + std::chrono::seconds(bytes / Mebibyte);
}

Duration import_limit(const std::filesystem::path& archive) {
    std::error_code unknown;  // of what is no file: who imports it says so
    const std::uintmax_t bytes = std::filesystem::file_size(archive, unknown);
    return import_limit(unknown ? 0 : bytes);
}

Task<> import_into_containerd(ProcessRunner& processes, std::string endpoint, BundledImage image) {
    constexpr std::string_view Scheme = "unix://";
    if (endpoint.starts_with(Scheme)) endpoint.erase(0, Scheme.size());
    Command ctr{.arguments = {"ctr", "--address", std::move(endpoint), "--namespace", "k8s.io", "images", "import", "-"},
                .input = std::string(image.archive),
                .limit = import_limit(image.archive.size())};
    auto imported = co_await processes.run(std::move(ctr));
    const std::string context = std::string("importing ") + image.name + ", which is part of porthole, with containerd's program ctr";
    if (!imported) co_return std::move(imported).error().with_context(context);
    if (imported->exit_code != 0) co_return Error(Reason::Io, context + ": " + imported->errors);
    co_return {};
}

}  // namespace porthole::bundled_images
