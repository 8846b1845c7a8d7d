#include "objects/quota_usage.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "objects/pods.h"
#include "objects/volume_match.h"

namespace porthole::objects {

using namespace api::core::v1;

namespace {

const Quantity One = Quantity::from_value(1);

/// Without a domain or in one of Kubernetes' own.
bool is_native(const std::string& resource) { return resource.find('/') == resource.npos || resource.contains("kubernetes.io/"); }

bool crosses_namespaces(const Pod& pod) {
    if (!pod.spec.affinity) return false;
    const auto crosses = [](const PodAffinityTerm& term) { return !term.namespaces.empty() || term.namespace_selector; };
    const auto any = [&](const auto& affinity) {
        return affinity && (std::ranges::any_of(affinity->required_during_scheduling_ignored_during_execution, crosses) ||
                            std::ranges::any_of(affinity->preferred_during_scheduling_ignored_during_execution,
                                                [&](const auto& term) { return crosses(term.pod_affinity_term); }));
    };
    return any(pod.spec.affinity->pod_affinity) || any(pod.spec.affinity->pod_anti_affinity);
}

/// Whether the class that an object names is one of those that the scope means; "" for none.
bool fits_name(const ScopedResourceSelectorRequirement& wanted, const std::string& name) {
    const bool listed = std::ranges::find(wanted.values, name) != wanted.values.end();
    if (wanted.operator_ == "In") return listed;
    if (wanted.operator_ == "NotIn") return !listed;
    return (wanted.operator_ == "DoesNotExist") == name.empty();
}

bool fits_scope(const ScopedResourceSelectorRequirement& wanted, const Pod& pod) {
    const std::string& scope = wanted.scope_name;
    if (scope == "BestEffort") return qos_class(pod.spec) == PodQOSClass::BestEffort;
    if (scope == "NotBestEffort") return qos_class(pod.spec) != PodQOSClass::BestEffort;
    if (scope == "Terminating") return pod.spec.active_deadline_seconds.has_value();
    if (scope == "NotTerminating") return !pod.spec.active_deadline_seconds.has_value();
    if (scope == "CrossNamespacePodAffinity") return crosses_namespaces(pod);
    if (scope != "PriorityClass") return false;
    return fits_name(wanted, pod.spec.priority_class_name);
}

/// The attributes that the claim has, wants, and is getting.
std::set<std::string> attributes_classes(const PersistentVolumeClaim& claim) {
    std::set<std::string> names{claim.spec.volume_attributes_class_name.value_or(""),
                                claim.status.current_volume_attributes_class_name.value_or("")};
    if (claim.status.modify_volume_status) names.insert(claim.status.modify_volume_status->target_volume_attributes_class_name);
    names.erase("");
    return names;
}

bool fits_scope(const ScopedResourceSelectorRequirement& wanted, const PersistentVolumeClaim& claim) {
    if (wanted.scope_name != "VolumeAttributesClass") return false;
    const std::set<std::string> names = attributes_classes(claim);
    if (names.empty()) return fits_name(wanted, "");
    return std::ranges::any_of(names, [&](const std::string& name) { return fits_name(wanted, name); });
}

template <class T>
bool fits_scopes(const ResourceQuotaSpec& quota, const T& object) {
    for (const std::string& scope : quota.scopes)
        if (!fits_scope({.scope_name = scope, .operator_ = "Exists", .values = {}}, object)) return false;
    if (!quota.scope_selector) return true;
    return std::ranges::all_of(quota.scope_selector->match_expressions, [&](const auto& wanted) { return fits_scope(wanted, object); });
}

}  // namespace

std::string count_resource(const schema::Kind& kind) {
    return "count/" + std::string(kind.plural) + (kind.group.empty() ? "" : "." + std::string(kind.group));
}

std::string old_count_resource(const schema::Kind& kind) {
    const bool has = kind.group.empty() && (kind.plural == "configmaps" || kind.plural == "secrets" || kind.plural == "resourcequotas" ||
                                            kind.plural == "replicationcontrollers" || kind.plural == "services" ||
                                            kind.plural == "persistentvolumeclaims" || kind.plural == "pods");
    return has ? std::string(kind.plural) : "";
}

ResourceAmounts usage_of_kind(const schema::Kind& kind) {
    ResourceAmounts usage{{count_resource(kind), One}};
    if (const std::string old = old_count_resource(kind); !old.empty()) usage[old] = One;
    return usage;
}

ResourceAmounts usage_of(const Pod& pod, SystemTime now) {
    ResourceAmounts usage{{"count/pods", One}};
    // One that has ended, or that should have by now, uses nothing but its place in the store.
    const bool overdue = pod.metadata.deletion_timestamp && pod.metadata.deletion_timestamp->to_system_time() < now;
    if (is_terminal(pod) || overdue) return usage;
    usage["pods"] = One;
    for (const auto& [name, amount] : pod_requests(pod.spec)) {
        usage["requests." + name] = amount;
        if (name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-")) usage[name] = amount;
    }
    for (const auto& [name, amount] : pod_limits(pod.spec))
        if (is_native(name)) usage["limits." + name] = amount;
    return usage;
}

ResourceAmounts usage_of(const Service& service) {
    ResourceAmounts usage{{"count/services", One}, {"services", One}};
    const auto ports = Quantity::from_value(static_cast<std::int64_t>(service.spec.ports.size()));
    if (service.spec.type == "NodePort") usage["services.nodeports"] = ports;
    if (service.spec.type == "LoadBalancer") {
        usage["services.loadbalancers"] = One;
        if (service.spec.allocate_load_balancer_node_ports.value_or(true)) usage["services.nodeports"] = ports;
    }
    return usage;
}

ResourceAmounts usage_of(const PersistentVolumeClaim& claim) {
    ResourceAmounts usage{{"count/persistentvolumeclaims", One}, {"persistentvolumeclaims", One}};
    const auto found = claim.spec.resources.requests.find("storage");
    Quantity storage = found == claim.spec.resources.requests.end() ? Quantity() : found->second;
    // A growth that failed may have been taken back, but not yet what was allocated for it.
    const auto allocated = claim.status.allocated_resources.find("storage");
    if (allocated != claim.status.allocated_resources.end() && storage < allocated->second) storage = allocated->second;
    usage["requests.storage"] = storage;
    if (const std::string& name = class_of(claim); !name.empty()) {
        usage[name + ".storageclass.storage.k8s.io/requests.storage"] = storage;
        usage[name + ".storageclass.storage.k8s.io/persistentvolumeclaims"] = One;
    }
    return usage;
}

bool has_scopes(const ResourceQuotaSpec& quota) { return !quota.scopes.empty() || quota.scope_selector; }

Pod quota_part(const Pod& pod) {
    Pod part;
    part.metadata.deletion_timestamp = pod.metadata.deletion_timestamp;
    if (is_terminal(pod)) part.status.phase = pod.status.phase;
    part.spec.active_deadline_seconds = pod.spec.active_deadline_seconds;
    part.spec.priority_class_name = pod.spec.priority_class_name;
    if (crosses_namespaces(pod)) part.spec.affinity = pod.spec.affinity;
    part.spec.overhead = pod.spec.overhead;
    part.spec.resources = pod.spec.resources;
    for (const auto list : {&PodSpec::containers, &PodSpec::init_containers}) {
        for (const Container& container : pod.spec.*list) {
            Container& kept = (part.spec.*list).emplace_back();
            kept.resources = container.resources;
            kept.restart_policy = container.restart_policy;
        }
    }
    return part;
}

bool covers(const ResourceQuotaSpec& quota, const Pod& pod) { return fits_scopes(quota, pod); }
bool covers(const ResourceQuotaSpec& quota, const PersistentVolumeClaim& claim) { return fits_scopes(quota, claim); }

}  // namespace porthole::objects
