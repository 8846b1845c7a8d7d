#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Namespace;
constexpr const char* NameLabel = "kubernetes.io/metadata.name";
constexpr const char* KubernetesFinalizer = "kubernetes";

void set_defaults(Namespace& object) {
    if (!object.metadata.name.empty()) object.metadata.labels[NameLabel] = object.metadata.name;
}

void prepare_for_create(Namespace& object, const WriteContext&) {
    object.status.phase = "Active";
    auto& finalizers = object.spec.finalizers;
    if (std::ranges::find(finalizers, KubernetesFinalizer) == finalizers.end()) finalizers.emplace_back(KubernetesFinalizer);
}

void prepare_for_update(Namespace& object, const Namespace& old, const WriteContext&) { object.spec.finalizers = old.spec.finalizers; }

void validate(const Namespace& object, FieldErrors& errors) {
    for (const std::string& finalizer : object.spec.finalizers) {
        invalid_all(errors, "spec.finalizers", finalizer, names::check_qualified_name(finalizer));
        if (!finalizer.contains('/') && finalizer != KubernetesFinalizer)
            errors.invalid("spec.finalizers", finalizer, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

void validate_status_update(const Namespace& object, const Namespace&, FieldErrors& errors) {
    const bool deleting = object.metadata.deletion_timestamp.has_value();
    if (!deleting && object.status.phase != "Active")
        errors.invalid("status.Phase", object.status.phase, "may only be 'Active' if `deletionTimestamp` is empty");
    if (deleting && object.status.phase != "Terminating")
        errors.invalid("status.Phase", object.status.phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
}

}  // namespace

Strategy namespace_strategy() {
    Strategy strategy = strategy_for<Namespace>({.set_defaults = set_defaults,
                                                 .prepare_for_create = prepare_for_create,
                                                 .prepare_for_update = prepare_for_update,
                                                 .validate = validate,
                                                 .validate_status_update = validate_status_update});
    strategy.name_rule = names::NameRule::Dns1123Label;
    strategy.selectable_fields = {{"status.phase"}, {"name", "", "metadata.name"}};
    // The namespace controller empties spec.finalizers once nothing is left in the namespace.
    strategy.delays_removal = [](const ApiObject& object) { return !object.view<Namespace>().spec.finalizers.empty(); };
    strategy.begin_deletion = [](ApiObject& object) { object.edit<Namespace>().status.phase = "Terminating"; };
    return strategy;
}

}  // namespace porthole::apiserver
