#include "winhost/images/registry_source.h"

namespace porthole::winhost {
namespace {

/// Lists within lists are allowed; nobody needs more.
constexpr int DeepestList = 4;

}  // namespace

Task<ImagePlan> RegistrySource::plan(HostPlatform host) {
    auto top = co_await session_.manifest(reference_.wanted());
    if (!top) {
        Error error = std::move(top).error();
        if (error.reason == Reason::NotFound) error.message = reference_.text() + ": not found";
        co_return std::move(error).with_context("failed to resolve reference \"" + reference_.text() + "\"");
    }
    std::string text = std::move(top->body);
    CO_TRY(Manifest manifest, parse_manifest(text));
    for (int depth = 0; manifest.is_index; ++depth) {
        if (depth == DeepestList) co_return Error(Reason::Invalid, "manifest lists are nested too deeply");
        CO_TRY(const Descriptor chosen, choose_manifest(manifest, host));
        CO_TRY(const auto next, co_await session_.manifest(chosen.digest));
        CO_TRY(manifest, parse_manifest(next.body));
    }
    std::vector<LayerPlan> layers;
    for (Descriptor& layer : manifest.layers) layers.push_back({.blob = std::move(layer)});
    CO_TRY(std::string config, co_await session_.blob(manifest.config, ConfigLimit));
    CO_TRY(ImagePlan plan, make_plan(std::move(config), std::move(layers), host));
    if (!reference_.tag.empty()) plan.tags.push_back(reference_.tag_text());
    plan.digests.push_back(reference_.digest_text(top->digest));
    co_return plan;
}

Task<BlobPlace> RegistrySource::fetch(LayerPlan layer, std::string scratch) {
    const std::uint64_t size = layer.blob.size;
    CO_TRY_VOID(co_await session_.download(std::move(layer.blob), scratch));
    co_return BlobPlace{.path = scratch, .size = size};
}

}  // namespace porthole::winhost
