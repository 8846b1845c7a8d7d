#include <algorithm>
#include <map>

#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/kinds/kinds.h"
#include "objects/pod_resources.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

void set_defaults(Pod& object) {
    default_pod_spec(object.spec);
    default_pod_object(object.spec);
}

/// The pod's own labels under `keys` become terms of the selector, so that pods of one revision are compared with each other.
template <class Term>
void merge_label_keys(const Pod& pod, Term& term, const std::vector<std::string>& keys, const char* operation) {
    if (!term.label_selector) return;
    for (const std::string& key : keys) {
        const auto label = pod.metadata.labels.find(key);
        if (label == pod.metadata.labels.end()) continue;
        term.label_selector->match_expressions.push_back({.key = key, .operator_ = operation, .values = {label->second}});
    }
}

template <class AnyAffinity>
void merge_affinity_keys(const Pod& pod, schema::Box<AnyAffinity>& affinity) {
    if (!affinity) return;
    const auto merge = [&](PodAffinityTerm& term) {
        merge_label_keys(pod, term, term.match_label_keys, "In");
        merge_label_keys(pod, term, term.mismatch_label_keys, "NotIn");
    };
    for (PodAffinityTerm& term : affinity->required_during_scheduling_ignored_during_execution) merge(term);
    for (WeightedPodAffinityTerm& term : affinity->preferred_during_scheduling_ignored_during_execution) merge(term.pod_affinity_term);
}

void prepare_for_create(Pod& object, const WriteContext& context) {
    object.status = {};
    object.status.phase = PodPhase::Pending;
    object.status.qos_class = objects::qos_class(object.spec);
    if (!object.spec.scheduling_gates.empty()) {
        object.status.conditions.push_back({.type = "PodScheduled",
                                            .status = "False",
                                            .last_transition_time = context.now,
                                            .reason = "SchedulingGated",
                                            .message = "Scheduling is blocked due to non-empty scheduling gates"});
    }
    if (object.spec.affinity) {
        merge_affinity_keys(object, object.spec.affinity->pod_affinity);
        merge_affinity_keys(object, object.spec.affinity->pod_anti_affinity);
    }
    for (TopologySpreadConstraint& constraint : object.spec.topology_spread_constraints)
        merge_label_keys(object, constraint, constraint.match_label_keys, "In");
    take_app_armor_annotations(object);
}

void prepare_for_status_update(Pod& object, const Pod& old, const WriteContext&) {
    object.metadata.owner_references = old.metadata.owner_references;
    if (object.status.qos_class.empty()) object.status.qos_class = old.status.qos_class;
    if (object.status.observed_generation == 0) object.status.observed_generation = old.status.observed_generation;
}

void validate(const Pod& object, FieldErrors& errors) {
    const FieldPath spec = "spec";
    if (!object.spec.ephemeral_containers.empty()) errors.forbidden(spec / "ephemeralContainers", "cannot be set on create");
    validate_pod_spec(object.spec, spec, PodSpecIn::Pod, errors);
    validate_app_armor_annotations(object.metadata, object.spec, "metadata.annotations", spec, errors);
    const auto& annotations = object.metadata.annotations;
    if (const auto cost = annotations.find("controller.kubernetes.io/pod-deletion-cost"); cost != annotations.end()) {
        const bool number =
            !cost->second.empty() && cost->second.size() <= 11 &&
            std::ranges::all_of(cost->second.substr(cost->second.starts_with('-')), [](char c) { return c >= '0' && c <= '9'; });
        if (!number) errors.invalid(FieldPath("metadata.annotations").key(cost->first), cost->second, "must be a 32bit integer");
    }
    if (const auto mirror = annotations.find("kubernetes.io/config.mirror"); mirror != annotations.end()) {
        if (object.spec.node_name.empty())
            errors.invalid(FieldPath("metadata.annotations").key(mirror->first), mirror->second,
                           "must set spec.nodeName if mirror pod annotation is set");
        if (!object.spec.resource_claims.empty()) errors.forbidden("", "static pods do not support resource claims");
    }
}

void warn(const Pod& object, const Pod* old, std::vector<std::string>& warnings) {
    if (old) return;  // as upstream: pods are written too often, and seldom by people
    warn_of_name(object.metadata.name, "the Pod's hostname", warnings);
    warn_of_pod(object.metadata, object.spec, "", warnings);
}

void prepare_ephemeral_containers(ApiObject& object, const ApiObject& old, const WriteContext&) {
    Pod merged = old.view<Pod>();
    merged.spec.ephemeral_containers = object.view<Pod>().spec.ephemeral_containers;
    object.edit<Pod>() = std::move(merged);
}

void validate_ephemeral_containers(const ApiObject& object, const ApiObject& old, FieldErrors& errors) {
    const Pod &now = object.view<Pod>(), &before = old.view<Pod>();
    const FieldPath path = "spec.ephemeralContainers";
    if (before.metadata.annotations.contains("kubernetes.io/config.mirror"))
        return errors.forbidden("", "static pods do not support ephemeral containers");
    validate_containers(now.spec, "spec", PodSpecIn::Pod, errors);
    std::map<std::string_view, const EphemeralContainer*> by_name;
    for (const EphemeralContainer& one : now.spec.ephemeral_containers) by_name.emplace(one.name, &one);
    for (const EphemeralContainer& was : before.spec.ephemeral_containers) {
        const auto same = by_name.find(was.name);
        if (same == by_name.end())
            errors.forbidden(path, "existing ephemeral containers \"" + was.name + "\" may not be removed\n");
        else if (!(*same->second == was))
            errors.forbidden(path, "existing ephemeral containers \"" + was.name + "\" may not be changed\n");
    }
}

/// Bindings and evictions change the pod themselves, see subresources/: it is stored as they made it.
void prepare_as_made(ApiObject&, const ApiObject&, const WriteContext&) {}

/// How long the node may take: what is asked for, else what the pod says. Nothing runs that is not placed or has ended.
std::int64_t grace_period(const ApiObject& object, std::optional<std::int64_t> requested) {
    const Pod& pod = object.view<Pod>();
    std::int64_t seconds = requested ? *requested : pod.spec.termination_grace_period_seconds.value_or(0);
    if (pod.spec.node_name.empty()) seconds = 0;
    if (pod.status.phase == PodPhase::Failed || pod.status.phase == PodPhase::Succeeded) seconds = 0;
    return seconds < 0 ? 1 : seconds;
}

}  // namespace

Strategy pod_strategy() {
    Strategy strategy = strategy_for<Pod>({.set_defaults = set_defaults,
                                           .prepare_for_create = prepare_for_create,
                                           .prepare_for_status_update = prepare_for_status_update,
                                           .validate = validate,
                                           .validate_update = validate_pod_update,
                                           .validate_status_update = validate_pod_status_update,
                                           .warn = warn});
    strategy.generation = Generation::OnSpecChange;
    strategy.grace_period = grace_period;
    strategy.selectable_fields = {
        {"spec.nodeName"}, {"spec.restartPolicy"}, {"spec.schedulerName"},      {"spec.serviceAccountName"}, {"spec.hostNetwork", "false"},
        {"status.phase"},  {"status.podIP"},       {"status.nominatedNodeName"}};
    strategy.topic_field = "spec.nodeName";
    strategy.subresources["ephemeralcontainers"] = {.prepare = prepare_ephemeral_containers, .validate = validate_ephemeral_containers};
    strategy.subresources["resize"] = pod_resize();
    strategy.subresources["binding"] = {.prepare = prepare_as_made, .keeps_generation = true, .keeps_defaults = true};
    strategy.subresources["eviction"] = {.prepare = prepare_as_made};
    return strategy;
}

}  // namespace porthole::apiserver
