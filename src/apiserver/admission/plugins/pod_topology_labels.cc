#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Pod;

constexpr const char* Copied[] = {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"};

/// Gives pods the zone and region of their node, so that their programs can read them through the downward API (KEP-4742).
class PodTopologyLabels final : public AdmissionPlugin {
public:
    explicit PodTopologyLabels(LabelOfNode label_of_node) : label_of_node_(std::move(label_of_node)) {}
    std::string_view name() const override { return "PodTopologyLabels"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }

    Task<> admit(AdmissionAttributes& attributes) override {
        const bool creates = attributes.operation == AdmissionOperation::Create && attributes.subresource.empty();
        if (!creates && attributes.subresource != "binding") co_return {};
        ApiObject& pod = *attributes.object;
        // Of a tree in a binding, which changes little; most nodes have no such labels.
        const std::string node(creates ? pod.view<Pod>().spec.node_name : schema::at(pod.bare_tree(), "spec").string_at({"nodeName"}));
        if (node.empty()) co_return {};
        std::vector<std::pair<const char*, std::string>> labels;
        for (const char* label : Copied) {
            if (auto value = label_of_node_(node, label)) labels.emplace_back(label, *std::move(value));
        }
        if (labels.empty()) co_return {};
        pod.edit_metadata([&](api::meta::v1::ObjectMeta& metadata) {
            for (auto& [label, value] : labels) metadata.labels[label] = std::move(value);
        });
        co_return {};
    }

private:
    LabelOfNode label_of_node_;
};

}  // namespace

AdmissionPluginPtr make_pod_topology_labels(const AdmissionDependencies& given) {
    return std::make_unique<PodTopologyLabels>(given.label_of_node);
}

}  // namespace porthole::apiserver
