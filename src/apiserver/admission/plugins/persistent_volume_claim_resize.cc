#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "apiserver/admission/plugins.h"
#include "objects/volume_match.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::PersistentVolumeClaim;
using api::storage::v1::StorageClass;

class PersistentVolumeClaimResize final : public AdmissionPlugin {
public:
    explicit PersistentVolumeClaimResize(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "PersistentVolumeClaimResize"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "persistentvolumeclaims"); }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.subresource.empty() || attributes.operation != AdmissionOperation::Update) co_return {};
        const auto &before = attributes.old_object->view<PersistentVolumeClaim>(),
                   &after = attributes.object->view<PersistentVolumeClaim>();
        if (asked_for(after) <= asked_for(before)) co_return {};
        if (before.status.phase != "Bound")
            co_return admission_forbidden(attributes, "Only bound persistent volume claims can be expanded");
        CO_TRY(const auto storage_class, reader_.find<StorageClass>("", objects::class_of(before)));
        if (storage_class && storage_class->allow_volume_expansion.value_or(false)) co_return {};
        co_return admission_forbidden(attributes,
                                      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                                      "support resize");
    }

private:
    static Quantity asked_for(const PersistentVolumeClaim& claim) {
        const auto found = claim.spec.resources.requests.find("storage");
        return found == claim.spec.resources.requests.end() ? Quantity() : found->second;
    }

    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_persistent_volume_claim_resize(const AdmissionDependencies& given) {
    return std::make_unique<PersistentVolumeClaimResize>(given.reader);
}

}  // namespace porthole::apiserver
