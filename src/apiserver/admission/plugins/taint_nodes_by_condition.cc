#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr const char* NotReady = "node.kubernetes.io/not-ready";

class TaintNodesByCondition final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "TaintNodesByCondition"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "nodes"); }
    Task<> admit(AdmissionAttributes& attributes) override {
        if (!attributes.subresource.empty() || attributes.operation != AdmissionOperation::Create) co_return {};
        auto& taints = attributes.object->edit<Node>().spec.taints;
        const bool present =
            std::ranges::any_of(taints, [](const Taint& taint) { return taint.key == NotReady && taint.effect == "NoSchedule"; });
        if (!present) taints.push_back({.key = NotReady, .effect = "NoSchedule"});
        co_return {};
    }
};

}  // namespace

AdmissionPluginPtr make_taint_nodes_by_condition(const AdmissionDependencies&) { return std::make_unique<TaintNodesByCondition>(); }

}  // namespace porthole::apiserver
