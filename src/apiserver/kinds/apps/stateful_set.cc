#include "api/apps_v1.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::apps::v1::StatefulSet;
using api::apps::v1::StatefulSetSpec;
using api::core::v1::PodTemplateSpec;
using api::core::v1::Volume;

constexpr std::string_view SpecIsFixed =
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

void set_defaults(StatefulSet& object) {
    StatefulSetSpec& spec = object.spec;
    if (spec.pod_management_policy.empty()) spec.pod_management_policy = "OrderedReady";
    if (spec.update_strategy.type.empty()) {
        spec.update_strategy.type = "RollingUpdate";
        if (!spec.update_strategy.rolling_update) spec.update_strategy.rolling_update.emplace();
    }
    if (spec.update_strategy.type == "RollingUpdate" && spec.update_strategy.rolling_update &&
        !spec.update_strategy.rolling_update->partition)
        spec.update_strategy.rolling_update->partition = 0;
    if (!spec.persistent_volume_claim_retention_policy) spec.persistent_volume_claim_retention_policy.emplace();
    auto& retention = *spec.persistent_volume_claim_retention_policy;
    if (retention.when_deleted.empty()) retention.when_deleted = "Retain";
    if (retention.when_scaled.empty()) retention.when_scaled = "Retain";
    if (!spec.replicas) spec.replicas = 1;
    if (!spec.revision_history_limit) spec.revision_history_limit = 10;
    default_pod_spec(spec.template_.spec);
    for (auto& claim : spec.volume_claim_templates) {
        if (claim.status.phase.empty()) claim.status.phase = "Pending";
        if (!claim.spec.volume_mode) claim.spec.volume_mode = "Filesystem";
    }
}

/// The template as its pods will have it: a claim's volume takes the place of one of its name.
PodTemplateSpec with_claims(const StatefulSetSpec& spec) {
    PodTemplateSpec whole = spec.template_;
    for (const auto& claim : spec.volume_claim_templates) {
        std::erase_if(whole.spec.volumes, [&](const Volume& volume) { return volume.name == claim.metadata.name; });
        Volume& volume = whole.spec.volumes.emplace_back();
        volume.name = claim.metadata.name;
        volume.persistent_volume_claim.emplace().claim_name = claim.metadata.name;
    }
    return whole;
}

void validate(const StatefulSet& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const StatefulSetSpec& spec = object.spec;
    if (spec.pod_management_policy.empty())
        errors.required(path / "podManagementPolicy");
    else if (!is_one_of(spec.pod_management_policy, {"OrderedReady", "Parallel"}))
        errors.invalid(path / "podManagementPolicy", spec.pod_management_policy, "must be 'OrderedReady' or 'Parallel'");
    const auto& strategy = spec.update_strategy;
    const FieldPath update = path / "updateStrategy";
    if (strategy.type.empty())
        errors.required(update);
    else if (!is_one_of(strategy.type, {"RollingUpdate", "OnDelete"}))
        errors.invalid(update, schema::to_value(strategy), "must be 'RollingUpdate' or 'OnDelete'");
    if (strategy.type == "OnDelete" && strategy.rolling_update)
        errors.invalid(update / "rollingUpdate", schema::to_value(*strategy.rolling_update),
                       "only allowed for updateStrategy 'RollingUpdate'");
    if (strategy.rolling_update) {
        check_not_negative(strategy.rolling_update->partition.value_or(0), update / "rollingUpdate" / "partition", errors);
        if (const auto& unavailable = strategy.rolling_update->max_unavailable) {
            check_amount(*unavailable, update / "rollingUpdate" / "maxUnavailable", errors);
            check_at_most_whole(*unavailable, update / "rollingUpdate" / "maxUnavailable", errors);
            if (number_in(*unavailable) == 0)
                errors.invalid(update / "rollingUpdate" / "maxUnavailable", value_of(*unavailable), "cannot be 0");
        }
    }
    if (const auto& retention = spec.persistent_volume_claim_retention_policy) {
        const FieldPath at = path / "persistentVolumeClaimRetentionPolicy";
        if (!is_one_of(retention->when_deleted, {"Retain", "Delete"}))
            errors.not_supported(at / "whenDeleted", retention->when_deleted, {"Delete", "Retain"});
        if (!is_one_of(retention->when_scaled, {"Retain", "Delete"}))
            errors.not_supported(at / "whenScaled", retention->when_scaled, {"Delete", "Retain"});
    }
    check_not_negative(spec.replicas.value_or(0), path / "replicas", errors);
    check_not_negative(spec.min_ready_seconds, path / "minReadySeconds", errors);
    if (spec.revision_history_limit) check_not_negative(*spec.revision_history_limit, path / "revisionHistoryLimit", errors);
    if (spec.ordinals) check_not_negative(spec.ordinals->start, path / "ordinals.start", errors);
    validate_selector_and_template(spec.selector, with_claims(spec), path, "statefulset", errors);
    validate_lasting_template(spec.template_, path / "template", "StatefulSet", errors);
}

void validate_create(const StatefulSet& object, FieldErrors& errors) {
    const std::string& service = object.spec.service_name;
    if (!service.empty()) invalid_all(errors, "spec.serviceName", service, names::check_dns1123_label(service));
    validate(object, errors);
}

void validate_update(const StatefulSet& object, const StatefulSet& old, FieldErrors& errors) {
    validate(object, errors);
    StatefulSetSpec fixed = object.spec;
    fixed.replicas = old.spec.replicas;
    fixed.ordinals = old.spec.ordinals;
    fixed.template_ = old.spec.template_;
    fixed.update_strategy = old.spec.update_strategy;
    fixed.revision_history_limit = old.spec.revision_history_limit;
    fixed.persistent_volume_claim_retention_policy = old.spec.persistent_volume_claim_retention_policy;
    fixed.min_ready_seconds = old.spec.min_ready_seconds;
    if (!(fixed == old.spec)) errors.forbidden("spec", SpecIsFixed);
}

void validate_status_update(const StatefulSet& object, const StatefulSet& old, FieldErrors& errors) {
    const FieldPath path = "status";
    const auto& status = object.status;
    check_not_negative(status.replicas, path / "replicas", errors);
    check_not_negative(status.observed_generation, path / "observedGeneration", errors);
    check_within_replicas(status.ready_replicas, status.replicas, path / "readyReplicas", errors);
    check_within_replicas(status.current_replicas, status.replicas, path / "currentReplicas", errors);
    check_within_replicas(status.updated_replicas, status.replicas, path / "updatedReplicas", errors);
    check_within_replicas(status.available_replicas, status.replicas, path / "availableReplicas", errors);
    if (status.available_replicas > status.ready_replicas)
        errors.invalid(path / "availableReplicas", status.available_replicas, "cannot be greater than status.readyReplicas");
    check_collision_count(status.collision_count, old.status.collision_count, errors);
}

}  // namespace

Strategy stateful_set_strategy() {
    Strategy strategy = strategy_for<StatefulSet>({.set_defaults = set_defaults,
                                                   .validate = validate_create,
                                                   .validate_update = validate_update,
                                                   .validate_status_update = validate_status_update,
                                                   .warn = warn_of_template<StatefulSet>});
    strategy.name_rule = names::NameRule::Dns1123Label;
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
