#include "scheduler/framework/convert.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "objects/conditions.h"
#include "objects/csi_translation.h"
#include "objects/csi_volume.h"
#include "objects/declared_features.h"
#include "objects/owners.h"
#include "objects/pod_resources.h"
#include "objects/pods.h"
#include "objects/requirement.h"
#include "objects/resource_claims.h"
#include "schema/value.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
using ResourceList = std::map<std::string, Quantity>;

/// An unknown operator holds for nothing.
Requirement requirement(const std::string& key, const std::string& operation, const std::vector<std::string>& values) {
    const auto known = objects::parse_operator(operation);
    if (!known) return {key, Requirement::Operator::In, {}};
    return {key, *known, values};
}

std::optional<TaintEffect> effect_of(const std::string& name) {
    if (name == "NoSchedule") return TaintEffect::NoSchedule;
    if (name == "PreferNoSchedule") return TaintEffect::PreferNoSchedule;
    if (name == "NoExecute") return TaintEffect::NoExecute;
    return std::nullopt;
}

/// Nothing if its operator or effect is unknown, since it then covers no taint.
std::optional<Toleration> toleration_of(const core::Toleration& from) {
    const auto effect = effect_of(from.effect);
    if (!effect && !from.effect.empty()) return std::nullopt;
    const bool exists = from.operator_ == "Exists";
    if (!exists && !from.operator_.empty() && from.operator_ != "Equal") return std::nullopt;
    return Toleration{from.key, from.value, exists, effect};
}

// ---- resources

/// More than any node has. With these bounds the sum of a pod's thousands of containers, and that of a node's thousands of pods, cannot
/// overflow: a pod may name its node itself, however much it asks for.
constexpr std::int64_t MostOfAContainer = 1LL << 48, MostOfAPod = 1LL << 50;

Resources resources_of(const ResourceList& list) {
    Resources resources;
    for (const auto& [name, quantity] : list) {
        if (name == "cpu") {
            resources.milli_cpu = quantity.milli_value();
        } else if (name == "memory") {
            resources.memory = quantity.value();
        } else if (name == "ephemeral-storage") {
            resources.ephemeral_storage = quantity.value();
        } else if (name != "pods") {
            resources.extended_slot(name) = quantity.value();
        }
    }
    resources.lower_to(MostOfAContainer);
    return resources;
}

/// What stands for a container that names no amount.
struct Fallback {
    std::int64_t milli_cpu = 0, memory = 0;
};
constexpr Fallback Exact{}, Scored{100, 200LL << 20};

/// What is held while a resize is under way: the largest of what is asked for, unless its node can never give it, what is allocated and
/// what is in use.
Resources held(bool is_infeasible, const ResourceList& asked, const ResourceList& allocated,
               const schema::Box<core::ResourceRequirements>& in_use) {
    Resources requests = is_infeasible ? Resources() : resources_of(asked);
    requests.raise_to(resources_of(allocated));
    if (in_use) requests.raise_to(resources_of(in_use->requests));
    return requests;
}

/// Of the containers of one list, by name: a pod has room for thousands, but most have one.
class Statuses {
public:
    explicit Statuses(const std::vector<core::ContainerStatus>& list) : list_(list) {
        constexpr std::size_t Few = 16;
        if (list.size() <= Few) return;
        for (const core::ContainerStatus& status : list) by_name_.emplace(status.name, &status);
    }
    const core::ContainerStatus* find(const std::string& name) const {
        if (by_name_.empty()) {
            const auto found = std::ranges::find(list_, name, &core::ContainerStatus::name);
            return found == list_.end() ? nullptr : &*found;
        }
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }

private:
    const std::vector<core::ContainerStatus>& list_;
    std::unordered_map<std::string_view, const core::ContainerStatus*> by_name_;
};

bool has_infeasible_resize(const core::Pod& pod) {
    const auto* pending = objects::find_condition(pod.status.conditions, "PodResizePending");
    return pending && pending->reason == "Infeasible";
}

Resources requests_of(const core::Container& container, const Statuses& statuses, bool is_infeasible, Fallback fallback) {
    const core::ContainerStatus* status = statuses.find(container.name);
    Resources requests = status ? held(is_infeasible, container.resources.requests, status->allocated_resources, status->resources)
                                : resources_of(container.resources.requests);
    if (!container.resources.requests.contains("cpu")) requests.milli_cpu = std::max(requests.milli_cpu, fallback.milli_cpu);
    if (!container.resources.requests.contains("memory")) requests.memory = std::max(requests.memory, fallback.memory);
    return requests;
}

/// As objects::pod_requests(), with what the status says of resizes under way.
Resources pod_requests(const core::Pod& pod, Fallback fallback) {
    const bool is_infeasible = has_infeasible_resize(pod);
    const Statuses init_statuses(pod.status.init_container_statuses), statuses(pod.status.container_statuses);
    Resources running = objects::most_in_use<Resources>(pod.spec, [&](const core::Container& container, bool init) {
        return requests_of(container, init ? init_statuses : statuses, is_infeasible, fallback);
    });
    if (pod.spec.resources) {
        const ResourceList& named = pod.spec.resources->requests;
        const Resources whole =
            pod.status.resources ? held(is_infeasible, named, pod.status.allocated_resources, pod.status.resources) : resources_of(named);
        if (named.contains("cpu")) running.milli_cpu = whole.milli_cpu;
        if (named.contains("memory")) running.memory = whole.memory;
        for (const auto& [name, amount] : whole.extended)
            if (objects::is_pod_level_resource(name) && named.contains(name)) running.extended_slot(name) = amount;
    }
    running += resources_of(pod.spec.overhead);
    running.lower_to(MostOfAPod);
    return running;
}

// ---- affinity

std::vector<Requirement> requirements(const std::vector<core::NodeSelectorRequirement>& list) {
    std::vector<Requirement> result;
    for (const auto& one : list) result.push_back(requirement(one.key, one.operator_, one.values));
    return result;
}

}  // namespace

NodeSelectorTerm node_term(const core::NodeSelectorTerm& term) {
    return {requirements(term.match_expressions), requirements(term.match_fields)};
}

namespace {

AffinityTerm affinity_term(const core::PodAffinityTerm& term, const std::string& own_namespace, std::int32_t weight) {
    AffinityTerm result{.selector = selector(term.label_selector),
                        .namespaces = {term.namespaces.begin(), term.namespaces.end()},
                        .namespace_selector = selector(term.namespace_selector),
                        .topology_key = term.topology_key,
                        .weight = weight};
    if (term.namespaces.empty() && !term.namespace_selector) result.namespaces.insert(own_namespace);
    return result;
}

void append_text(std::string& text, const schema::Box<api::meta::v1::LabelSelector>& selector) {
    text += selector ? "{" : "-";
    if (!selector) return;
    for (const auto& [key, value] : selector->match_labels) text.append(key).append("=").append(value).append(",");
    for (const auto& one : selector->match_expressions) {
        text.append(one.key).append(" ").append(one.operator_);
        for (const std::string& value : one.values) text.append(" ").append(value);
        text += ",";
    }
    text += "}";
}

/// Equal for equal terms, so that pods of one template are recognized.
void append_text(std::string& text, const core::PodAffinityTerm& term, char kind, std::int32_t weight) {
    text.append(1, kind).append(std::to_string(weight)).append(term.topology_key);
    append_text(text, term.label_selector);
    append_text(text, term.namespace_selector);
    for (const std::string& name : term.namespaces) text.append(name).append(",");
    text += ";";
}

void read_pod_affinity(const core::Affinity& affinity, PodInfo& info) {
    const auto take = [&](const core::PodAffinityTerm& term, char kind, std::int32_t weight, std::vector<AffinityTerm>& into) {
        into.push_back(affinity_term(term, info.namespace_, weight));
        append_text(info.affinity_text, term, kind, weight);
    };
    if (affinity.pod_affinity) {
        for (const auto& term : affinity.pod_affinity->required_during_scheduling_ignored_during_execution)
            take(term, '+', 0, info.affinity);
        for (const auto& term : affinity.pod_affinity->preferred_during_scheduling_ignored_during_execution)
            take(term.pod_affinity_term, 'p', term.weight, info.preferred_affinity);
    }
    if (affinity.pod_anti_affinity) {
        for (const auto& term : affinity.pod_anti_affinity->required_during_scheduling_ignored_during_execution)
            take(term, '-', 0, info.anti_affinity);
        for (const auto& term : affinity.pod_anti_affinity->preferred_during_scheduling_ignored_during_execution)
            take(term.pod_affinity_term, 'p', -term.weight, info.preferred_affinity);
    }
}

void read_node_affinity(const core::NodeAffinity& affinity, PodInfo& info) {
    if (const auto& required = affinity.required_during_scheduling_ignored_during_execution) {
        info.required_node_terms.emplace();
        for (const auto& term : required->node_selector_terms) info.required_node_terms->push_back(node_term(term));
    }
    for (const auto& term : affinity.preferred_during_scheduling_ignored_during_execution) {
        info.preferred_node_terms.push_back({term.weight, node_term(term.preference)});
    }
}

}  // namespace

SpreadConstraint spread_constraint(const core::TopologySpreadConstraint& from, const Labels& labels) {
    SpreadConstraint constraint{.max_skew = from.max_skew,
                                .topology_key = from.topology_key,
                                .required = from.when_unsatisfiable != "ScheduleAnyway",
                                .selector = selector(from.label_selector),
                                .min_domains = from.min_domains.value_or(1),
                                .honor_node_affinity = from.node_affinity_policy.value_or("Honor") == "Honor",
                                .honor_node_taints = from.node_taints_policy.value_or("Ignore") == "Honor"};
    for (const std::string& key : from.match_label_keys) {
        if (const auto own = labels.find(key); own != labels.end())
            constraint.selector.add({key, Requirement::Operator::In, {own->second}});
    }
    return constraint;
}

namespace {

// ---- the rest

void read_ports(const core::Container& container, bool host_network, PodInfo& info) {
    for (const core::ContainerPort& port : container.ports) {
        const std::int32_t number = host_network && port.host_port == 0 ? port.container_port : port.host_port;
        if (number <= 0) continue;
        info.host_ports.push_back({port.host_ip.empty() ? "0.0.0.0" : port.host_ip, port.protocol.empty() ? "TCP" : port.protocol, number});
    }
}

/// ":latest" where neither tag nor digest is given.
std::string full_image_name(const std::string& image) {
    const std::size_t slash = image.rfind('/');
    const std::size_t mark = image.find_first_of(":@", slash == std::string::npos ? 0 : slash);
    return mark == std::string::npos ? image + ":latest" : image;
}

void read_image(const std::string& name, PodInfo& info) {
    if (!name.empty()) info.images.push_back(full_image_name(name));
}

void read_container(const core::Container& container, PodInfo& info) {
    ++info.container_count;
    read_image(container.image, info);
}

std::vector<PodDeviceClaim> device_claims(const core::Pod& pod) {
    std::vector<PodDeviceClaim> claims;
    std::set<std::pair<std::string_view, bool>> seen;  // thousands of entries may name one claim
    const auto names = objects::resource_claim_names(pod);
    for (const core::PodResourceClaim& entry : pod.spec.resource_claims) {
        const auto& name = names.at(entry.name);
        if (name && name->empty()) continue;  // none is needed
        if (name && !seen.emplace(*name, entry.resource_claim_name.has_value()).second) continue;
        claims.push_back({.name = entry.name, .claim = name.value_or(""), .is_generated = !entry.resource_claim_name});
    }
    return claims;
}

bool is_preempted(const core::Pod& pod) {
    const auto* disruption = objects::find_condition(pod.status.conditions, "DisruptionTarget");
    return disruption && disruption->status == "True" && disruption->reason == "PreemptionByScheduler";
}

bool owned_by_set(const core::Pod& pod) {
    const auto* owner = objects::find_controller(pod.metadata);
    return owner && (owner->kind == "ReplicaSet" || owner->kind == "StatefulSet" || owner->kind == "ReplicationController");
}

/// Upstream's rules of which disks are the same. Of Ceph's, pods that share one monitor may mean the same cluster.
void read_disks(const core::Volume& volume, PodInfo& info) {
    if (const auto& disk = volume.gce_persistent_disk) info.disks.push_back({"gce " + disk->pd_name, disk->read_only});
    if (const auto& disk = volume.aws_elastic_block_store) info.disks.push_back({"aws " + disk->volume_id, false});
    if (const auto& disk = volume.iscsi) info.disks.push_back({"iscsi " + disk->iqn, disk->read_only});
    if (const auto& disk = volume.rbd)
        for (const std::string& monitor : disk->monitors)
            info.disks.push_back({"rbd " + monitor + " " + disk->pool + " " + disk->image, disk->read_only});
}

/// By id, each once; to be written where any of the same id is.
void put_in_order(std::vector<PodDisk>& disks) {
    std::ranges::sort(disks, {}, [](const PodDisk& disk) { return std::tie(disk.id, disk.read_only); });
    const auto rest = std::ranges::unique(disks, {}, &PodDisk::id);
    disks.erase(rest.begin(), rest.end());
}

std::string ephemeral_claim(const core::Pod& pod, const core::Volume& volume) { return pod.metadata.name + "-" + volume.name; }

/// The claims of its volumes, each once.
std::vector<std::string> volume_claims(const core::Pod& pod) {
    std::vector<std::string> claims;
    std::set<std::string> seen;
    const auto add = [&](std::string name) {
        if (seen.insert(name).second) claims.push_back(std::move(name));
    };
    for (const core::Volume& volume : pod.spec.volumes) {
        if (volume.persistent_volume_claim) add(volume.persistent_volume_claim->claim_name);
        if (volume.ephemeral) add(ephemeral_claim(pod, volume));
    }
    return claims;
}

void read_volume(const core::Pod& pod, const core::Volume& volume, PodInfo& info) {
    read_disks(volume, info);
    if (volume.image) read_image(volume.image->reference, info);
    const auto translated = objects::translated_to_csi(volume, info.namespace_);
    if (!translated || !*translated) return;  // what cannot be translated, the kubelet refuses
    const auto& source = *(*translated)->spec.csi;
    info.migrated_volumes.push_back({objects::unique_volume_name(source), source.driver, objects::in_tree_plugin_of(volume)});
}

}  // namespace

Selector selector(const schema::Box<api::meta::v1::LabelSelector>& from) {
    if (!from) return Selector::nothing();
    Selector result = Selector::of(from->match_labels);
    for (const auto& one : from->match_expressions) result.add(requirement(one.key, one.operator_, one.values));
    return result;
}

PodInfo pod_info(const core::Pod& pod) {
    PodInfo info;
    info.namespace_ = pod.metadata.namespace_;
    info.name = pod.metadata.name;
    info.uid = pod.metadata.uid;
    info.resource_version = pod.metadata.resource_version;
    info.labels = pod.metadata.labels;
    info.node_name = pod.spec.node_name;
    info.nominated_node_name = pod.status.nominated_node_name;
    info.scheduler_name = pod.spec.scheduler_name.empty() ? "default-scheduler" : pod.spec.scheduler_name;
    info.priority = pod.spec.priority.value_or(0);
    info.never_preempts = pod.spec.preemption_policy == "Never";
    info.terminating = objects::is_terminating(pod);
    info.preempted = info.terminating && is_preempted(pod);
    info.finished = objects::is_terminal(pod);
    info.created = pod.metadata.creation_timestamp;
    info.started = pod.status.start_time.value_or(info.created);
    for (const auto& gate : pod.spec.scheduling_gates) info.scheduling_gates.push_back(gate.name);

    info.requests = pod_requests(pod, Exact);
    const Resources scored = pod_requests(pod, Scored);
    info.scored_milli_cpu = scored.milli_cpu;
    info.scored_memory = scored.memory;
    for (const core::Container& container : pod.spec.init_containers) {
        read_container(container, info);
        // The others have ended when the pod's containers run.
        if (objects::is_sidecar(container)) read_ports(container, pod.spec.host_network, info);
    }
    for (const core::Container& container : pod.spec.containers) {
        read_container(container, info);
        read_ports(container, pod.spec.host_network, info);
    }

    info.node_selector = pod.spec.node_selector;
    if (pod.spec.affinity) {
        if (pod.spec.affinity->node_affinity) read_node_affinity(*pod.spec.affinity->node_affinity, info);
        read_pod_affinity(*pod.spec.affinity, info);
    }
    for (const core::Toleration& one : pod.spec.tolerations) {
        if (auto toleration = toleration_of(one)) info.tolerations.push_back(std::move(*toleration));
    }
    for (const auto& one : pod.spec.topology_spread_constraints) info.spread_constraints.push_back(spread_constraint(one, info.labels));
    info.owned_by_set = owned_by_set(pod);
    info.claims = volume_claims(pod);
    for (const core::Volume& volume : pod.spec.volumes) {
        read_volume(pod, volume, info);
        if (volume.ephemeral) info.ephemeral_claims.insert(ephemeral_claim(pod, volume));
    }
    put_in_order(info.disks);
    info.device_claims = device_claims(pod);
    info.needed_features = objects::features_to_run(pod.spec);
    return info;
}

NodeSpec node_spec(const core::Node& node) {
    NodeSpec spec;
    spec.name = node.metadata.name;
    spec.labels = node.metadata.labels;
    spec.unschedulable = node.spec.unschedulable;
    for (const core::Taint& taint : node.spec.taints) {
        if (const auto effect = effect_of(taint.effect)) spec.taints.push_back({taint.key, taint.value, *effect});
    }
    spec.allocatable = resources_of(node.status.allocatable);
    spec.declared_features = node.status.declared_features;
    if (const auto pods = node.status.allocatable.find("pods"); pods != node.status.allocatable.end()) {
        spec.allowed_pods = pods->second.value();
    }
    for (const core::ContainerImage& image : node.status.images) {
        for (const std::string& name : image.names) spec.images.emplace_back(name, image.size_bytes);
    }
    return spec;
}

core::ObjectReference object_reference(const PodInfo& pod) {
    return {.kind = "Pod",
            .namespace_ = pod.namespace_,
            .name = pod.name,
            .uid = pod.uid,
            .api_version = "v1",
            .resource_version = pod.resource_version};
}

schema::Value pod_condition(const core::Pod* pod, const std::string& type, const std::string& status, const std::string& reason,
                            const std::string& message, SystemTime now) {
    const core::PodCondition* known = pod ? objects::find_condition(pod->status.conditions, type) : nullptr;
    const bool is_new = !known || known->status != status || known->last_transition_time.is_zero();
    schema::Value condition =
        schema::Value::object({{"type", type},
                               {"status", status},
                               {"lastProbeTime", nullptr},
                               {"lastTransitionTime", (is_new ? Timestamp(now) : known->last_transition_time).to_string()},
                               {"reason", reason},
                               {"message", message}});
    if (pod && pod->metadata.generation > 0) condition["observedGeneration"] = pod->metadata.generation;
    return condition;
}

}  // namespace porthole::scheduler
