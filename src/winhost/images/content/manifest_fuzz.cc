// Manifests, lists, configurations and the headers of registries: what parses can be used, what does not is refused.
#include <cstdint>
#include <cstdlib>

#include "winhost/images/content/manifest.h"
#include "winhost/images/content/reference.h"
#include "winhost/images/registry/challenge.h"
#include "winhost/images/registry/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::winhost;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const HostPlatform host{.version = {10, 0, 20348, 1}};
    if (const auto manifest = parse_manifest(text); manifest && manifest->is_index) static_cast<void>(choose_manifest(*manifest, host));
    if (const auto image = parse_image_config(text)) static_cast<void>(check_platform(image->config, host));
    if (const auto reference = Reference::parse(text); reference && !Reference::parse(reference->text())) std::abort();
    if (const auto url = Url::parse(text); url && !Url::parse(url->text())) std::abort();
    parse_challenge(text);
    return 0;
}
