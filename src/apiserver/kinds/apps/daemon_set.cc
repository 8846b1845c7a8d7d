#include "api/apps_v1.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::apps::v1::DaemonSet;
using api::apps::v1::DaemonSetUpdateStrategy;

constexpr const char* TemplateGeneration = "deprecated.daemonset.template.generation";

void set_defaults(DaemonSet& object) {
    auto& strategy = object.spec.update_strategy;
    if (strategy.type.empty()) strategy.type = "RollingUpdate";
    if (strategy.type == "RollingUpdate") {
        if (!strategy.rolling_update) strategy.rolling_update.emplace();
        if (!strategy.rolling_update->max_unavailable) strategy.rolling_update->max_unavailable = IntOrString(1);
        if (!strategy.rolling_update->max_surge) strategy.rolling_update->max_surge = IntOrString(0);
    }
    if (!object.spec.revision_history_limit) object.spec.revision_history_limit = 10;
    default_pod_spec(object.spec.template_.spec);
}

std::int64_t template_generation(const DaemonSet& object) {
    const auto found = object.metadata.annotations.find(TemplateGeneration);
    return found == object.metadata.annotations.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
}

void prepare_for_create(DaemonSet& object, const WriteContext&) {
    if (template_generation(object) < 1) object.metadata.annotations[TemplateGeneration] = "1";
}

void prepare_for_update(DaemonSet& object, const DaemonSet& old, const WriteContext&) {
    const bool changed = !(object.spec.template_ == old.spec.template_);
    object.metadata.annotations[TemplateGeneration] = std::to_string(template_generation(old) + (changed ? 1 : 0));
}

void validate_strategy(const DaemonSetUpdateStrategy& strategy, const FieldPath& path, FieldErrors& errors) {
    if (strategy.type == "OnDelete") return;
    if (strategy.type != "RollingUpdate") return errors.not_supported(path, schema::to_value(strategy), {"RollingUpdate", "OnDelete"});
    const FieldPath rolling = path / "rollingUpdate";
    if (!strategy.rolling_update) return errors.required(rolling);
    const IntOrString unavailable = strategy.rolling_update->max_unavailable.value_or(0);
    const IntOrString surge = strategy.rolling_update->max_surge.value_or(0);
    check_amount(unavailable, rolling / "maxUnavailable", errors);
    check_amount(surge, rolling / "maxSurge", errors);
    check_at_most_whole(unavailable, rolling / "maxUnavailable", errors);
    check_at_most_whole(surge, rolling / "maxSurge", errors);
    if (number_in(unavailable) != 0 && number_in(surge) != 0)
        errors.invalid(rolling / "maxSurge", value_of(surge), "may not be set when maxUnavailable is non-zero");
    if (number_in(unavailable) == 0 && number_in(surge) == 0) errors.required(rolling / "maxUnavailable", "cannot be 0 when maxSurge is 0");
}

void validate(const DaemonSet& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    validate_selector_and_template(object.spec.selector, object.spec.template_, path, "daemonset", errors);
    validate_lasting_template(object.spec.template_, path / "template", "DaemonSet", errors);
    check_not_negative(object.spec.min_ready_seconds, path / "minReadySeconds", errors);
    validate_strategy(object.spec.update_strategy, path / "updateStrategy", errors);
    if (object.spec.revision_history_limit) check_not_negative(*object.spec.revision_history_limit, path / "revisionHistoryLimit", errors);
}

void validate_update(const DaemonSet& object, const DaemonSet& old, FieldErrors& errors) {
    validate(object, errors);
    check_selector_unchanged(object.spec.selector, old.spec.selector, errors);
}

void validate_status_update(const DaemonSet& object, const DaemonSet& old, FieldErrors& errors) {
    const FieldPath path = "status";
    const auto& status = object.status;
    check_not_negative(status.current_number_scheduled, path / "currentNumberScheduled", errors);
    check_not_negative(status.number_misscheduled, path / "numberMisscheduled", errors);
    check_not_negative(status.desired_number_scheduled, path / "desiredNumberScheduled", errors);
    check_not_negative(status.number_ready, path / "numberReady", errors);
    check_not_negative(status.observed_generation, path / "observedGeneration", errors);
    check_not_negative(status.updated_number_scheduled, path / "updatedNumberScheduled", errors);
    check_not_negative(status.number_available, path / "numberAvailable", errors);
    check_not_negative(status.number_unavailable, path / "numberUnavailable", errors);
    check_collision_count(status.collision_count, old.status.collision_count, errors);
}

}  // namespace

Strategy daemon_set_strategy() {
    Strategy strategy = strategy_for<DaemonSet>({.set_defaults = set_defaults,
                                                 .prepare_for_create = prepare_for_create,
                                                 .prepare_for_update = prepare_for_update,
                                                 .validate = validate,
                                                 .validate_update = validate_update,
                                                 .validate_status_update = validate_status_update,
                                                 .warn = warn_of_template<DaemonSet>});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
