#include <algorithm>

#include "api/core_v1.h"
#include "api/scheduling_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Pod;
using api::scheduling::v1::PriorityClass;

class PriorityAdmission final : public AdmissionPlugin {
public:
    explicit PriorityAdmission(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "Priority"; }
    bool handles(const AdmissionAttributes& attributes) const override {
        return attributes.is("", "pods") || attributes.is("scheduling.k8s.io", "priorityclasses");
    }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!attributes.is("", "pods") || !attributes.subresource.empty() || attributes.operation != AdmissionOperation::Create) {
            co_return {};
        }
        const std::string class_name = attributes.object->view<Pod>().spec.priority_class_name;
        CO_TRY(const auto found, class_name.empty() ? default_class() : reader_.find<PriorityClass>("", class_name));
        if (!class_name.empty() && !found)
            co_return admission_forbidden(attributes, "no PriorityClass with name " + class_name + " was found");

        auto& spec = attributes.object->edit<Pod>().spec;
        const std::int32_t priority = found ? found->value : 0;
        const std::string policy = found ? found->preemption_policy.value_or("PreemptLowerPriority") : "PreemptLowerPriority";
        if (spec.priority && *spec.priority != priority) {
            co_return admission_forbidden(attributes, "the integer value of priority (" + std::to_string(*spec.priority) +
                                                          ") must not be provided in pod spec; priority admission controller computed " +
                                                          std::to_string(priority) + " from the given PriorityClass name");
        }
        if (spec.preemption_policy && *spec.preemption_policy != policy) {
            co_return admission_forbidden(attributes, "the string value of PreemptionPolicy (" + *spec.preemption_policy +
                                                          ") must not be provided in pod spec; priority admission controller computed " +
                                                          policy + " from the given PriorityClass name");
        }
        spec.priority = priority;
        spec.preemption_policy = policy;
        if (found) spec.priority_class_name = found->metadata.name;
        co_return {};
    }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.is("scheduling.k8s.io", "priorityclasses") || !attributes.object) co_return {};
        const auto& wanted = attributes.object->view<PriorityClass>();
        if (!wanted.global_default) co_return {};
        CO_TRY(const auto other, default_class());
        if (other && other->metadata.name != wanted.metadata.name) {
            co_return admission_forbidden(
                attributes, "PriorityClass " + other->metadata.name + " is already marked as default. Only one default can exist");
        }
        co_return {};
    }

private:
    /// The global default; if there are several, the lowest, so that no pod gets a higher priority by accident.
    Result<std::shared_ptr<const PriorityClass>> default_class() const {
        TRY(const auto classes, reader_.list<PriorityClass>());
        std::shared_ptr<const PriorityClass> best;
        for (const auto& one : classes) {
            if (one->global_default && (!best || one->value < best->value)) best = one;
        }
        return best;
    }
    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_priority(const AdmissionDependencies& given) { return std::make_unique<PriorityAdmission>(given.reader); }

}  // namespace porthole::apiserver
