#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "base/strings.h"
#include "objects/pod_resources.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Node;
using api::core::v1::Pod;

/// Refuses a resize that the pod's node can never grant: on Windows, or to more than the node has.
class PodResizeValidator final : public AdmissionPlugin {
public:
    explicit PodResizeValidator(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "PodResizeValidator"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (attributes.subresource != "resize" || attributes.operation != AdmissionOperation::Update) co_return {};
        if (attributes.object->metadata().generation == attributes.old_object->metadata().generation) co_return {};
        const Pod& pod = attributes.object->view<Pod>();
        const std::string& node_name = pod.spec.node_name;
        if (node_name.empty()) co_return {};
        CO_TRY(const auto node, reader_.find<Node>("", node_name));
        if (!node) co_return admission_forbidden(attributes, "node " + quote(node_name) + " not found");
        const auto system = node->metadata.labels.find("kubernetes.io/os");
        if (system != node->metadata.labels.end() && system->second != "linux")
            co_return refused(attributes,
                              "pod resize is only supported on linux nodes, node " + quote(node_name) + " is " + quote(system->second),
                              "UnsupportedPlatform");
        const std::string lacking = more_than(node->status.allocatable, objects::pod_requests(pod.spec));
        if (lacking.empty()) co_return {};
        co_return refused(attributes, "node didn't have enough allocatable resources: " + lacking, "NodeCapacity");
    }

private:
    static Error refused(const AdmissionAttributes& attributes, const std::string& why, const char* type) {
        Error error = admission_forbidden(attributes, why);
        error.details->causes.push_back({.type = type, .message = "", .field = ""});
        return error;
    }

    static std::string more_than(const objects::ResourceList& allocatable, const objects::ResourceList& requests) {
        std::string text;
        for (const char* name : {"cpu", "memory"}) {
            const Quantity asked = objects::amount_of(requests, name), there = objects::amount_of(allocatable, name);
            if (asked <= there) continue;
            const bool milli = name == std::string_view("cpu");
            const auto number = [&](const Quantity& amount) { return std::to_string(milli ? amount.milli_value() : amount.value()); };
            text += (text.empty() ? "" : "; ") + std::string(name) + ", requested: " + number(asked) + ", allocatable: " + number(there);
        }
        return text;
    }

    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_pod_resize_validator(const AdmissionDependencies& given) {
    return std::make_unique<PodResizeValidator>(given.reader);
}

}  // namespace porthole::apiserver
