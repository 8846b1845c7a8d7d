#include "kubelet/preparation/pod_references.h"

#include "api/node_v1.h"
#include "base/result.h"
#include "base/strings.h"
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

Task<std::vector<std::shared_ptr<const core::Secret>>> PodReferences::pull_secrets(std::shared_ptr<const core::Pod> pod) {
    std::vector<std::shared_ptr<const core::Secret>> found;
    std::vector<std::string> missing;
    for (const core::LocalObjectReference& reference : pod->spec.image_pull_secrets) {
        auto secret = co_await objects_.secret(pod->metadata.namespace_, reference.name);
        if (is_cancelled(secret)) co_return std::move(secret).error();
        if (secret)
            found.push_back(std::move(*secret));
        else
            missing.push_back(reference.name);
    }
    if (!missing.empty())
        events_.warning(
            reference_to(*pod), "FailedToRetrieveImagePullSecret",
            "Unable to retrieve some image pull secrets (" + join(missing, ", ") + "); attempting to pull the image may not succeed.");
    co_return found;
}

Task<std::string> PodReferences::runtime_handler(std::shared_ptr<const core::Pod> pod) {
    const std::string name = pod->spec.runtime_class_name.value_or("");
    if (name.empty()) co_return name;
    auto found = co_await client_.get<api::node::v1::RuntimeClass>({"", name});
    if (!found) co_return std::move(found).error().with_context("failed to get RuntimeClass");
    co_return found->handler;
}

Task<Environment> PodReferences::environment(const core::Pod& pod, const core::Container& container, DownwardContext context) const {
    co_return co_await make_environment(pod, container, context, service_environment(services_for(pod, services_.list())), objects_);
}

}  // namespace porthole::kubelet
