#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/validation/names.h"
#include "objects/restart_rules.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

constexpr std::string_view SpecIsFixed =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
constexpr const char* MirrorAnnotation = "kubernetes.io/config.mirror";

/// The first of each name.
template <class T>
std::map<std::string_view, const T*> by_name(const std::vector<T>& list) {
    std::map<std::string_view, const T*> found;
    for (const T& one : list) found.emplace(one.name, &one);
    return found;
}

void validate_deadline(const PodSpec& now, const PodSpec& before, FieldErrors& errors) {
    const FieldPath path = "spec.activeDeadlineSeconds";
    if (now.active_deadline_seconds) {
        const std::int64_t seconds = *now.active_deadline_seconds;
        invalid_all(errors, path, seconds, names::check_in_range(seconds, 0, 2147483647));
        if (before.active_deadline_seconds && seconds > *before.active_deadline_seconds)
            errors.invalid(path, seconds, "must be less than or equal to previous value");
    } else if (before.active_deadline_seconds) {
        errors.invalid(path, schema::Value(), "must not update from a positive integer to nil value");
    }
}

void validate_added_tolerations(const PodSpec& now, const PodSpec& before, FieldErrors& errors) {
    const FieldPath path = "spec.tolerations";
    const auto all_but_seconds = [](const Toleration& one) { return std::tie(one.key, one.operator_, one.value, one.effect); };
    std::set<decltype(all_but_seconds(Toleration()))> kept;
    for (const Toleration& one : now.tolerations) kept.insert(all_but_seconds(one));
    for (const Toleration& old : before.tolerations) {
        if (!kept.contains(all_but_seconds(old)))
            return errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
    }
    validate_tolerations(now.tolerations, path, errors);
}

void validate_gates(const PodSpec& now, const PodSpec& before, FieldErrors& errors) {
    std::set<std::string_view> known;
    for (const PodSchedulingGate& gate : before.scheduling_gates) known.insert(gate.name);
    for (std::size_t i = 0; i < now.scheduling_gates.size(); ++i) {
        const std::string& name = now.scheduling_gates[i].name;
        if (!known.contains(name)) {
            errors.forbidden(FieldPath("spec.schedulingGates").index(i) / "name",
                             "only deletion is allowed, but found new scheduling gate '" + name + "'");
        }
    }
}

void copy_images(std::vector<Container>& to, const std::vector<Container>& from) {
    for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) to[i].image = from[i].image;
}

/// What differs, one changed member of spec a line.
std::string difference(const PodSpec& now, const PodSpec& before) {
    const schema::Value after = schema::to_value(now), old = schema::to_value(before);
    std::string text;
    for (const schema::Member& member : after.as_object())
        if (!(schema::at(old, member.key) == member.value)) text += "\n  spec." + member.key;
    for (const schema::Member& member : old.as_object())
        if (!after.find(member.key)) text += "\n  spec." + member.key;
    return text;
}

void validate_images(const std::vector<Container>& containers, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
        const std::string& image = containers[i].image;
        if (image.empty())
            errors.required(path.index(i) / "image");
        else if (image.front() == ' ' || image.back() == ' ')
            errors.invalid(path.index(i) / "image", image, "must not have leading or trailing whitespace");
    }
}

/// While its gates hold it back, a pod's placement may be narrowed: only additions to what selects nodes.
void validate_gated_placement(const PodSpec& now, const PodSpec& before, FieldErrors& errors) {
    const bool added_only = std::ranges::all_of(before.node_selector, [&](const auto& one) {
        const auto found = now.node_selector.find(one.first);
        return found != now.node_selector.end() && found->second == one.second;
    });
    if (!added_only) {
        errors.invalid("spec.nodeSelector", schema::to_value(now)["nodeSelector"],
                       "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
    }
    const auto required = [](const PodSpec& spec) -> const NodeSelector* {
        if (!spec.affinity || !spec.affinity->node_affinity) return nullptr;
        const auto& selector = spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution;
        return selector ? &*selector : nullptr;
    };
    const NodeSelector *after = required(now), *old = required(before);
    if (!old) return;
    const FieldPath path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    if (!after || after->node_selector_terms.size() != old->node_selector_terms.size())
        return errors.invalid(path, after ? schema::to_value(*after) : schema::Value(),
                              "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
    for (std::size_t i = 0; i < old->node_selector_terms.size(); ++i) {
        const auto extends = [](const auto& longer, const auto& shorter) {
            return longer.size() >= shorter.size() && std::equal(shorter.begin(), shorter.end(), longer.begin());
        };
        const NodeSelectorTerm &term = after->node_selector_terms[i], &was = old->node_selector_terms[i];
        if (!extends(term.match_expressions, was.match_expressions) || !extends(term.match_fields, was.match_fields))
            errors.invalid(path.index(i), schema::to_value(term), "only additions are allowed (no mutations or deletions)");
    }
}

/// Whether a pod is a mirror decides what its node may read, so it is decided once, by whichever way the pod is written.
void validate_mirror_annotation(const Pod& object, const Pod& old, FieldErrors& errors) {
    const auto mirror_of = [](const Pod& pod) {
        const auto found = pod.metadata.annotations.find(MirrorAnnotation);
        return found == pod.metadata.annotations.end() ? std::nullopt : std::optional(found->second);
    };
    if (mirror_of(object) != mirror_of(old))
        errors.forbidden(FieldPath("metadata.annotations").key(MirrorAnnotation), "may not set, update or delete mirror pod annotation");
}

/// What the scheduler says of devices for extended resources.
void validate_extended_claim(const Pod& pod, FieldErrors& errors) {
    if (!pod.status.extended_resource_claim_status) return;
    const auto& [mappings, claim] = *pod.status.extended_resource_claim_status;
    const FieldPath path = "status.extendedResourceClaimStatus", list = path / "requestMappings";
    auto containers = by_name(pod.spec.containers);
    containers.merge(by_name(pod.spec.init_containers));
    std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
    if (mappings.empty()) errors.required(list, "at least one request mapping is required");
    for (std::size_t i = 0; i < mappings.size(); ++i) {
        const auto& [name, resource, request] = mappings[i];
        const auto container = containers.find(name);
        if (container == containers.end())
            errors.invalid(list.index(i) / "containerName", name,
                           "must match the name of an entry in spec.initContainers.name or spec.containers.name");
        else if (!container->second->resources.requests.contains(resource))
            errors.invalid(list.index(i) / "resourceName", resource,
                           "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
                           "spec.containers.resources.requests");
        invalid_all(errors, path / "requestName", request, names::check_dns1123_label(request));
        if (seen.emplace(name, resource, request).second) continue;
        errors.duplicate(list.index(i) / "containerName", name);
        errors.duplicate(list.index(i) / "resourceName", resource);
        errors.duplicate(list.index(i) / "requestName", request);
    }
    if (claim.empty())
        errors.required(path / "resourceClaimName");
    else
        invalid_all(errors, path / "resourceClaimName", claim, names::check_dns1123_subdomain(claim));
}

}  // namespace

void validate_pod_update(const Pod& object, const Pod& old, FieldErrors& errors) {
    const PodSpec &now = object.spec, &before = old.spec;
    for (const auto& [list, size, was] : {std::tuple("spec.containers", now.containers.size(), before.containers.size()),
                                          std::tuple("spec.initContainers", now.init_containers.size(), before.init_containers.size())}) {
        if (size != was) return errors.forbidden(list, "pod updates may not add or remove containers");
    }
    validate_images(now.containers, "spec.containers", errors);
    validate_images(now.init_containers, "spec.initContainers", errors);
    validate_deadline(now, before, errors);
    validate_added_tolerations(now, before, errors);
    validate_gates(now, before, errors);

    PodSpec allowed = now;
    copy_images(allowed.containers, before.containers);
    copy_images(allowed.init_containers, before.init_containers);
    allowed.active_deadline_seconds = before.active_deadline_seconds;
    allowed.tolerations = before.tolerations;
    allowed.scheduling_gates = before.scheduling_gates;
    const bool was_negative = before.termination_grace_period_seconds.value_or(0) < 0;
    if (was_negative && allowed.termination_grace_period_seconds == 1)
        allowed.termination_grace_period_seconds = before.termination_grace_period_seconds;
    if (!before.scheduling_gates.empty()) {
        validate_gated_placement(now, before, errors);
        allowed.node_selector = before.node_selector;
        if (allowed.affinity && before.affinity && allowed.affinity->node_affinity)
            allowed.affinity->node_affinity = before.affinity->node_affinity;
        else if (allowed.affinity && !before.affinity)
            allowed.affinity->node_affinity.reset();
        if (allowed.affinity && !before.affinity && *allowed.affinity == Affinity()) allowed.affinity.reset();
    }
    if (!(allowed == before)) errors.forbidden("spec", std::string(SpecIsFixed) + difference(allowed, before));
    validate_mirror_annotation(object, old, errors);
    forbid_changed_app_armor_annotations(object.metadata, old.metadata, errors);
}

void validate_pod_status_update(const Pod& object, const Pod& old, FieldErrors& errors) {
    validate_mirror_annotation(object, old, errors);
    forbid_changed_app_armor_annotations(object.metadata, old.metadata, errors);
    validate_extended_claim(object, errors);
    if (object.spec.node_name != old.spec.node_name) errors.forbidden("status.nodeName", "may not be changed directly");
    if (!old.status.qos_class.empty() && object.status.qos_class != old.status.qos_class)
        errors.invalid("status.qosClass", object.status.qos_class, "field is immutable");
    const auto check_states = [&](const std::vector<ContainerStatus>& now, const std::vector<ContainerStatus>& before,
                                  const std::vector<Container>& containers, const FieldPath& path) {
        const auto statuses_before = by_name(before);
        const auto containers_by_name = by_name(containers);
        for (std::size_t i = 0; i < now.size(); ++i) {
            const auto was = statuses_before.find(now[i].name);
            if (was == statuses_before.end() || !was->second->state.terminated || now[i].state.terminated) continue;
            const auto container = containers_by_name.find(now[i].name);
            if (container != containers_by_name.end() &&
                objects::may_restart(*container->second, object.spec, was->second->state.terminated->exit_code))
                continue;
            errors.forbidden(path.index(i) / "state", "may not be transitioned to non-terminated state");
        }
    };
    // Where one container restarts all, any may start again.
    if (!objects::may_restart_all_containers(object.spec)) {
        check_states(object.status.init_container_statuses, old.status.init_container_statuses, object.spec.init_containers,
                     "status.initContainerStatuses");
        check_states(object.status.container_statuses, old.status.container_statuses, object.spec.containers, "status.containerStatuses");
    }
    for (std::size_t i = 0; i < object.status.pod_ips.size(); ++i)
        invalid_all(errors, FieldPath("status.podIPs").index(i), object.status.pod_ips[i].ip, names::check_ip(object.status.pod_ips[i].ip));
    for (std::size_t i = 0; i < object.status.conditions.size(); ++i) {
        const std::string& type = object.status.conditions[i].type;
        invalid_all(errors, FieldPath("status.conditions").index(i) / "type", type, names::check_qualified_name(type));
    }
}

}  // namespace porthole::apiserver
