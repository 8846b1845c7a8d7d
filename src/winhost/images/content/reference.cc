#include "winhost/images/content/reference.h"

#include "kubelet/images/image_name.h"

namespace porthole::winhost {

Result<Reference> Reference::parse(const std::string& text) {
    TRY(const auto name, kubelet::parse_image_name(text));
    Reference reference{.registry = name.registry(), .repository = name.repository, .tag = name.tag, .digest = name.digest};
    if (name.repository.starts_with(reference.registry + "/")) reference.repository.erase(0, reference.registry.size() + 1);
    if (reference.registry == "index.docker.io") reference.registry = "docker.io";
    if (reference.registry == "docker.io" && !reference.repository.contains('/')) reference.repository.insert(0, "library/");
    if (reference.tag.empty() && reference.digest.empty()) reference.tag = "latest";
    return reference;
}

std::string Reference::text() const { return name() + (tag.empty() ? "" : ":" + tag) + (digest.empty() ? "" : "@" + digest); }

}  // namespace porthole::winhost
