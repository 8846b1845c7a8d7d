#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "base/strings.h"
#include "objects/declared_features.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Node;
using api::core::v1::Pod;

/// Refuses changes of running pods for which their node does not declare the feature (KEP-5328).
class NodeDeclaredFeatureValidator final : public AdmissionPlugin {
public:
    explicit NodeDeclaredFeatureValidator(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "NodeDeclaredFeatureValidator"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (attributes.operation != AdmissionOperation::Update) co_return {};
        if (!attributes.subresource.empty() && attributes.subresource != "resize") co_return {};
        if (attributes.object->metadata().generation == attributes.old_object->metadata().generation) co_return {};
        const Pod &before = attributes.old_object->view<Pod>(), &after = attributes.object->view<Pod>();
        const std::string& node_name = after.spec.node_name;
        const auto needed = objects::features_to_update(before.spec, after.spec);
        if (node_name.empty() || needed.empty()) co_return {};
        CO_TRY(const auto node, reader_.find<Node>("", node_name));
        if (!node) co_return admission_forbidden(attributes, "node " + quote(node_name) + " not found");
        const std::string missing = objects::missing_features(needed, node->status.declared_features);
        if (missing.empty()) co_return {};
        co_return admission_forbidden(attributes,
                                      "pod update requires features " + missing + " which are not available on node " + quote(node_name));
    }

private:
    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_node_declared_feature_validator(const AdmissionDependencies& given) {
    return std::make_unique<NodeDeclaredFeatureValidator>(given.reader);
}

}  // namespace porthole::apiserver
