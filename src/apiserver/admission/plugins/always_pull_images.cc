#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "schema/fields/field_errors.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using schema::FieldPath;

constexpr const char* Always = "Always";

/// Calls `visit(policy, image, path of the policy)` for everything in the pod that is made of an image.
template <class Spec, class Visit>
void visit_images(Spec& spec, Visit visit) {
    const FieldPath root("spec");
    const auto visit_all = [&](auto& containers, const char* field) {
        for (std::size_t i = 0; i < containers.size(); ++i)
            visit(containers[i].image_pull_policy, containers[i].image, root.child(field).index(i).child("imagePullPolicy"));
    };
    visit_all(spec.init_containers, "initContainers");
    visit_all(spec.containers, "containers");
    visit_all(spec.ephemeral_containers, "ephemeralContainers");
    for (std::size_t i = 0; i < spec.volumes.size(); ++i) {
        if (auto& image = spec.volumes[i].image)
            visit(image->pull_policy, image->reference, root.child("volumes").index(i).child("image").child("pullPolicy"));
    }
}

std::set<std::string> images_of(const Pod& pod) {
    std::set<std::string> images;
    visit_images(pod.spec, [&](const auto&, const std::string& image, const FieldPath&) { images.insert(image); });
    return images;
}

class AlwaysPullImages final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "AlwaysPullImages"; }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        visit_images(attributes.object->edit<Pod>().spec, [](auto& policy, const std::string&, const FieldPath&) { policy = Always; });
        co_return {};
    }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        schema::FieldErrors errors;
        visit_images(attributes.object->view<Pod>().spec, [&](const auto& policy, const std::string&, const FieldPath& path) {
            if (policy != Always) errors.not_supported(path, schema::Value(std::string(policy)), {Always});
        });
        if (!errors.empty()) co_return admission_forbidden(attributes, errors.text());
        co_return {};
    }

private:
    /// An update that brings no image changes nothing that was decided. Differs from Kubernetes: ephemeral containers that are added
    /// through their subresource are among them; else `kubectl debug` would use an image without the credentials for it.
    static bool concerns(const AdmissionAttributes& attributes) {
        if (!attributes.is("", "pods") || !attributes.object || !attributes.object->is<Pod>()) return false;
        if (attributes.operation == AdmissionOperation::Create) return attributes.subresource.empty();
        if (!attributes.subresource.empty() && attributes.subresource != "ephemeralcontainers") return false;
        if (!attributes.old_object) return true;
        return !std::ranges::includes(images_of(attributes.old_object->view<Pod>()), images_of(attributes.object->view<Pod>()));
    }
};

}  // namespace

AdmissionPluginPtr make_always_pull_images(const AdmissionDependencies&) { return std::make_unique<AlwaysPullImages>(); }

}  // namespace porthole::apiserver
