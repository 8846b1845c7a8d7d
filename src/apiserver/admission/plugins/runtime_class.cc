#include "api/core_v1.h"
#include "api/node_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Pod;
using api::node::v1::RuntimeClass;

class RuntimeClassAdmission final : public AdmissionPlugin {
public:
    explicit RuntimeClassAdmission(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "RuntimeClass"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "pods"); }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!attributes.subresource.empty() || attributes.operation != AdmissionOperation::Create) co_return {};
        const auto& class_name = attributes.object->view<Pod>().spec.runtime_class_name;
        if (!class_name) co_return {};
        CO_TRY(const auto found, reader_.find<RuntimeClass>("", *class_name));
        if (!found) co_return admission_forbidden(attributes, "pod rejected: RuntimeClass \"" + *class_name + "\" not found");
        auto& spec = attributes.object->edit<Pod>().spec;
        if (found->overhead) {
            if (!spec.overhead.empty() && spec.overhead != found->overhead->pod_fixed) {
                co_return admission_forbidden(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
            }
            spec.overhead = found->overhead->pod_fixed;
        }
        if (!found->scheduling) co_return {};
        for (const auto& [key, value] : found->scheduling->node_selector) {
            const auto [present, added] = spec.node_selector.try_emplace(key, value);
            if (!added && present->second != value) {
                co_return admission_forbidden(attributes, "conflict: runtimeClass.scheduling.nodeSelector[" + key + "] = " + value +
                                                              ", but pod.spec.nodeSelector[" + key + "] = " + present->second);
            }
        }
        spec.tolerations.insert(spec.tolerations.end(), found->scheduling->tolerations.begin(), found->scheduling->tolerations.end());
        co_return {};
    }

private:
    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_runtime_class(const AdmissionDependencies& given) { return std::make_unique<RuntimeClassAdmission>(given.reader); }

}  // namespace porthole::apiserver
