#include "api/apps_v1.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/validation/label_selector.h"

namespace porthole::apiserver {
namespace {

using api::apps::v1::ReplicaSet;
using api::core::v1::ReplicationController;

template <class Status>
void validate_counts(const Status& status, FieldErrors& errors) {
    const FieldPath path = "status";
    check_not_negative(status.replicas, path / "replicas", errors);
    check_not_negative(status.observed_generation, path / "observedGeneration", errors);
    check_within_replicas(status.fully_labeled_replicas, status.replicas, path / "fullyLabeledReplicas", errors);
    check_within_replicas(status.ready_replicas, status.replicas, path / "readyReplicas", errors);
    check_within_replicas(status.available_replicas, status.replicas, path / "availableReplicas", errors);
    if (status.available_replicas > status.ready_replicas)
        errors.invalid(path / "availableReplicas", status.available_replicas, "cannot be greater than readyReplicas");
}

void default_replica_set(ReplicaSet& object) {
    if (!object.spec.replicas) object.spec.replicas = 1;
    default_pod_spec(object.spec.template_.spec);
}

void validate_replica_set(const ReplicaSet& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    check_not_negative(object.spec.replicas.value_or(0), path / "replicas", errors);
    check_not_negative(object.spec.min_ready_seconds, path / "minReadySeconds", errors);
    // The message names a deployment here too.
    validate_selector_and_template(object.spec.selector, object.spec.template_, path, "deployment", errors);
    validate_lasting_template(object.spec.template_, path / "template", "ReplicaSet", errors);
}

void validate_replica_set_update(const ReplicaSet& object, const ReplicaSet& old, FieldErrors& errors) {
    validate_replica_set(object, errors);
    check_selector_unchanged(object.spec.selector, old.spec.selector, errors);
}

void validate_replica_set_status(const ReplicaSet& object, const ReplicaSet&, FieldErrors& errors) {
    validate_counts(object.status, errors);
}

void default_controller(ReplicationController& object) {
    if (!object.spec.replicas) object.spec.replicas = 1;
    if (!object.spec.template_) return;
    default_pod_spec(object.spec.template_->spec);
    if (object.spec.selector.empty()) object.spec.selector = object.spec.template_->metadata.labels;
    if (object.metadata.labels.empty()) object.metadata.labels = object.spec.template_->metadata.labels;
}

void validate_controller(const ReplicationController& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const auto& spec = object.spec;
    check_not_negative(spec.min_ready_seconds, path / "minReadySeconds", errors);
    if (spec.selector.empty()) errors.required(path / "selector");
    check_not_negative(spec.replicas.value_or(0), path / "replicas", errors);
    if (!spec.template_) return errors.required(path / "template");
    const LabelSelector selector = LabelSelector::from({.match_labels = spec.selector});
    if (!spec.selector.empty() && !selector.matches(spec.template_->metadata.labels)) {
        schema::Value labels = schema::Value::object();
        for (const auto& [key, value] : spec.template_->metadata.labels) labels[key] = value;
        errors.invalid(path / "template" / "metadata" / "labels", labels, "`selector` does not match template `labels`");
    }
    validate_pod_template(*spec.template_, path / "template", errors);
    validate_lasting_template(*spec.template_, path / "template", "ReplicationController", errors);
}

void validate_controller_status(const ReplicationController& object, const ReplicationController&, FieldErrors& errors) {
    validate_counts(object.status, errors);
}

}  // namespace

Strategy replica_set_strategy() {
    Strategy strategy = strategy_for<ReplicaSet>({.set_defaults = default_replica_set,
                                                  .validate = validate_replica_set,
                                                  .validate_update = validate_replica_set_update,
                                                  .validate_status_update = validate_replica_set_status,
                                                  .warn = warn_of_workload<ReplicaSet>});
    strategy.generation = Generation::OnSpecChange;
    strategy.selectable_fields = {{"status.replicas", "0"}};
    return strategy;
}

Strategy replication_controller_strategy() {
    Strategy strategy = strategy_for<ReplicationController>({.set_defaults = default_controller,
                                                             .validate = validate_controller,
                                                             .validate_status_update = validate_controller_status,
                                                             .warn = warn_of_workload<ReplicationController>});
    strategy.generation = Generation::OnSpecChange;
    strategy.orphans_by_default = true;
    strategy.selectable_fields = {{"status.replicas", "0"}};
    return strategy;
}

}  // namespace porthole::apiserver
