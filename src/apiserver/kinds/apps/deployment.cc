#include "api/apps_v1.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::DeploymentStrategy;

constexpr const char* DefaultShare = "25%";

void set_defaults(Deployment& object) {
    auto& spec = object.spec;
    if (!spec.replicas) spec.replicas = 1;
    if (!spec.revision_history_limit) spec.revision_history_limit = 10;
    if (!spec.progress_deadline_seconds) spec.progress_deadline_seconds = 600;
    if (spec.strategy.type.empty()) spec.strategy.type = "RollingUpdate";
    if (spec.strategy.type == "RollingUpdate") {
        if (!spec.strategy.rolling_update) spec.strategy.rolling_update.emplace();
        auto& rolling = *spec.strategy.rolling_update;
        if (!rolling.max_unavailable) rolling.max_unavailable = IntOrString(DefaultShare);
        if (!rolling.max_surge) rolling.max_surge = IntOrString(DefaultShare);
    }
    default_pod_spec(spec.template_.spec);
}

void validate_strategy(const DeploymentStrategy& strategy, const FieldPath& path, FieldErrors& errors) {
    if (strategy.type == "Recreate") {
        if (strategy.rolling_update) errors.forbidden(path / "rollingUpdate", "may not be specified when strategy `type` is 'Recreate'");
        return;
    }
    if (strategy.type != "RollingUpdate") return errors.not_supported(path, schema::to_value(strategy), {"Recreate", "RollingUpdate"});
    if (!strategy.rolling_update) return errors.required(path / "rollingUpdate", "this should be defaulted and never be nil");
    const FieldPath rolling = path / "rollingUpdate";
    const IntOrString unavailable = strategy.rolling_update->max_unavailable.value_or(0);
    const IntOrString surge = strategy.rolling_update->max_surge.value_or(0);
    check_amount(unavailable, rolling / "maxUnavailable", errors);
    check_amount(surge, rolling / "maxSurge", errors);
    if (number_in(unavailable) == 0 && number_in(surge) == 0)
        errors.invalid(rolling / "maxUnavailable", value_of(unavailable), "may not be 0 when `maxSurge` is 0");
    check_at_most_whole(unavailable, rolling / "maxUnavailable", errors);
}

void validate(const Deployment& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const auto& spec = object.spec;
    check_not_negative(spec.replicas.value_or(0), path / "replicas", errors);
    validate_selector_and_template(spec.selector, spec.template_, path, "deployment", errors);
    validate_lasting_template(spec.template_, path / "template", "ReplicaSet", errors);
    validate_strategy(spec.strategy, path / "strategy", errors);
    check_not_negative(spec.min_ready_seconds, path / "minReadySeconds", errors);
    if (spec.revision_history_limit) check_not_negative(*spec.revision_history_limit, path / "revisionHistoryLimit", errors);
    if (spec.progress_deadline_seconds) {
        check_not_negative(*spec.progress_deadline_seconds, path / "progressDeadlineSeconds", errors);
        if (*spec.progress_deadline_seconds <= spec.min_ready_seconds)
            errors.invalid(path / "progressDeadlineSeconds", *spec.progress_deadline_seconds, "must be greater than minReadySeconds");
    }
}

void validate_update(const Deployment& object, const Deployment& old, FieldErrors& errors) {
    validate(object, errors);
    check_selector_unchanged(object.spec.selector, old.spec.selector, errors);
}

void prepare_for_status_update(Deployment& object, const Deployment& old, const WriteContext&) {
    object.metadata.labels = old.metadata.labels;
}

void validate_status_update(const Deployment& object, const Deployment& old, FieldErrors& errors) {
    const FieldPath path = "status";
    const auto& status = object.status;
    check_not_negative(status.observed_generation, path / "observedGeneration", errors);
    check_not_negative(status.replicas, path / "replicas", errors);
    check_within_replicas(status.updated_replicas, status.replicas, path / "updatedReplicas", errors);
    check_within_replicas(status.ready_replicas, status.replicas, path / "readyReplicas", errors);
    check_within_replicas(status.available_replicas, status.replicas, path / "availableReplicas", errors);
    check_not_negative(status.unavailable_replicas, path / "unavailableReplicas", errors);
    if (status.available_replicas > status.ready_replicas)
        errors.invalid(path / "availableReplicas", status.available_replicas, "cannot be greater than readyReplicas");
    check_collision_count(status.collision_count, old.status.collision_count, errors);
}

}  // namespace

Strategy deployment_strategy() {
    Strategy strategy = strategy_for<Deployment>({.set_defaults = set_defaults,
                                                  .prepare_for_status_update = prepare_for_status_update,
                                                  .validate = validate,
                                                  .validate_update = validate_update,
                                                  .validate_status_update = validate_status_update,
                                                  .warn = warn_of_workload<Deployment>});
    strategy.generation = Generation::OnSpecOrAnnotationChange;
    return strategy;
}

}  // namespace porthole::apiserver
