// Names of images in pods, and the credentials that secrets bring for them.
#include <cstdint>
#include <cstdlib>

#include "kubelet/images/credentials.h"
#include "kubelet/images/image_name.h"

using namespace porthole::kubelet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto name = parse_image_name(text)) {
        const auto again = parse_image_name(name->full());
        if (!again || again->full() != name->full() || name->registry().empty()) std::abort();
    }
    auto secret = std::make_shared<core::Secret>();
    secret->type = "kubernetes.io/dockerconfigjson";
    secret->data[".dockerconfigjson"] = text;
    auto old = std::make_shared<core::Secret>();
    old->type = "kubernetes.io/dockercfg";
    old->data[".dockercfg"] = text;
    static const ImageName image = parse_image_name("registry.example:5000/team/app:1").value();
    static_cast<void>(registry_credentials(image, {secret, old}));
    return 0;
}
