#include "scheduler/framework/cluster.h"

#include <algorithm>
#include <map>

#include "base/result.h"

namespace porthole::scheduler {

namespace {

std::string class_text(const PodInfo& pod) {
    std::string text = pod.namespace_;
    text += pod.terminating ? "\x01t" : "\x01";
    for (const auto& [key, value] : pod.labels) text.append("\x01").append(key).append("\x02").append(value);
    if (!pod.affinity_text.empty()) text.append("\x03").append(pod.affinity_text);
    return text;
}

template <class T>
void erase_pointer(std::vector<T*>& from, T* what) {
    const auto found = std::ranges::find(from, what);
    if (found == from.end()) return;
    *found = from.back();
    from.pop_back();
}

}  // namespace

// ---- nodes

NodeInfo& Cluster::ensure_node(const std::string& name) {
    if (const auto found = slot_of_.find(name); found != slot_of_.end()) return *slots_[found->second];
    std::uint32_t slot = slot_count();
    if (free_slots_.empty()) {
        slots_.emplace_back();
        generations_.push_back(0);
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
    }
    slots_[slot] = std::make_unique<NodeInfo>(slot);
    slots_[slot]->set_spec(NodeSpec{.name = name});
    slots_[slot]->clear_spec();
    changed(*slots_[slot]);
    slot_of_.emplace(name, slot);
    topology_changed();
    return *slots_[slot];
}

void Cluster::set_node(NodeSpec spec) {
    NodeInfo& node = ensure_node(spec.name);
    if (!node.exists() || node.spec().labels != spec.labels) topology_changed();
    if (node.spec().taints != spec.taints) ++node_changes_;
    if (node.spec().images != spec.images) {
        set_images(node, node.spec().images, false);
        set_images(node, spec.images, true);
    }
    prefer_no_schedule_ -= node.has_prefer_no_schedule();
    node.set_spec(std::move(spec));
    prefer_no_schedule_ += node.has_prefer_no_schedule();
    changed(node);
}

void Cluster::remove_node(const std::string& name) {
    const auto found = slot_of_.find(name);
    if (found == slot_of_.end()) return;
    NodeInfo& node = *slots_[found->second];
    set_images(node, node.spec().images, false);
    prefer_no_schedule_ -= node.has_prefer_no_schedule();
    node.clear_spec();
    changed(node);
    topology_changed();
    drop_if_unused(node);
}

void Cluster::drop_if_unused(NodeInfo& node) {
    if (node.exists() || !node.pods().empty()) return;
    const std::uint32_t slot = node.slot();
    slot_of_.erase(node.name());
    slots_[slot].reset();
    free_slots_.push_back(slot);
    topology_changed();
}

void Cluster::set_images(const NodeInfo& node, const std::vector<std::pair<std::string, std::int64_t>>& images, bool present) {
    for (const auto& [name, size] : images) {
        if (present) {
            images_[name].size_on_slot[node.slot()] = size;
            continue;
        }
        const auto found = images_.find(name);
        if (found == images_.end()) continue;
        found->second.size_on_slot.erase(node.slot());
        if (found->second.size_on_slot.empty()) images_.erase(found);
    }
}

const NodeInfo* Cluster::find_node(const std::string& name) const {
    const auto found = slot_of_.find(name);
    if (found == slot_of_.end() || !slots_[found->second]->exists()) return nullptr;
    return slots_[found->second].get();
}

std::span<const NodeInfo* const> Cluster::nodes() const {
    if (order_valid_) return order_;
    std::map<std::string, std::vector<const NodeInfo*>> zones;
    for (const auto& node : slots_) {
        if (node && node->exists()) zones[node->spec().zone()].push_back(node.get());
    }
    order_.clear();
    for (std::size_t turn = 0; !zones.empty(); ++turn) {
        for (const auto& [zone, members] : zones) order_.push_back(members[turn]);
        std::erase_if(zones, [&](const auto& zone) { return zone.second.size() == turn + 1; });
    }
    order_slots_.clear();
    for (const NodeInfo* node : order_) order_slots_.push_back(node->slot());
    order_valid_ = true;
    return order_;
}

std::span<const std::uint32_t> Cluster::node_slots() const {
    nodes();
    return order_slots_;
}

void Cluster::topology_changed() {
    ++node_changes_;
    topologies_.clear();
    label_keys_.clear();
    order_valid_ = false;
}

const Topology& Cluster::topology(const std::string& key) const {
    if (label_keys_.empty()) {
        for (const NodeInfo* node : nodes())
            for (const auto& label : node->spec().labels) label_keys_.insert(label.first);
        no_topology_.domain_of_slot.assign(slots_.size(), Topology::None);
    }
    if (!label_keys_.contains(key)) return no_topology_;
    const auto [entry, made] = topologies_.try_emplace(key);
    Topology& topology = entry->second;
    if (!made) return topology;
    topology.domain_of_slot.assign(slots_.size(), Topology::None);
    std::unordered_map<std::string, std::int32_t> domains;
    for (const NodeInfo* node : nodes()) {
        const auto label = node->spec().labels.find(key);
        if (label == node->spec().labels.end()) continue;
        const auto [domain, fresh] = domains.try_emplace(label->second, static_cast<std::int32_t>(topology.values.size()));
        if (fresh) topology.values.push_back(label->second);
        topology.domain_of_slot[node->slot()] = domain->second;
    }
    return topology;
}

const ImageInfo* Cluster::find_image(const std::string& name) const {
    const auto found = images_.find(name);
    return found == images_.end() ? nullptr : &found->second;
}

// ---- pods

void Cluster::place(PodRef pod, const std::string& node_name, bool assumed) {
    remove_pod(pod->uid);
    NodeInfo& node = ensure_node(node_name);
    PodClass& pod_class = ensure_class(pod);
    ++pod_class.nodes[node.slot()];
    node.add(pod, &pod_class);
    changed(node);
    count_claims(*pod, true);
    const std::string& uid = pod->uid;
    placements_.emplace(uid, Placement{pod, node.slot(), assumed});
}

void Cluster::set_pod(PodRef pod) {
    CHECK(!pod->node_name.empty());
    const std::string node = pod->node_name;
    place(std::move(pod), node, false);
}

void Cluster::assume(PodRef pod, const std::string& node) { place(std::move(pod), node, true); }

void Cluster::forget(const std::string& uid) {
    if (is_assumed(uid)) remove_pod(uid);
}

void Cluster::remove_pod(const std::string& uid) {
    const auto found = placements_.find(uid);
    if (found == placements_.end()) return;
    const Placement placement = std::move(found->second);
    placements_.erase(found);
    NodeInfo& node = *slots_[placement.slot];
    const auto entry = std::ranges::find_if(node.pods(), [&](const auto& one) { return one.pod == placement.pod; });
    PodClass& pod_class = *entry->pod_class;
    node.remove(placement.pod->uid);
    changed(node);
    count_claims(*placement.pod, false);
    if (--pod_class.nodes[placement.slot] == 0) pod_class.nodes.erase(placement.slot);
    if (pod_class.nodes.empty()) drop_class(pod_class);
    drop_if_unused(node);
}

void Cluster::count_claims(const PodInfo& pod, bool adding) {
    for (const std::string& claim : pod.claims) {
        const std::string key = pod.namespace_ + "/" + claim;
        if (adding)
            ++claim_uses_[key];
        else if (--claim_uses_[key] == 0)
            claim_uses_.erase(key);
    }
}

std::uint32_t Cluster::claim_uses(const std::string& claim) const {
    const auto found = claim_uses_.find(claim);
    return found == claim_uses_.end() ? 0 : found->second;
}

bool Cluster::is_assumed(const std::string& uid) const {
    const auto found = placements_.find(uid);
    return found != placements_.end() && found->second.assumed;
}

PodRef Cluster::find_pod(const std::string& uid) const {
    const auto found = placements_.find(uid);
    return found == placements_.end() ? nullptr : found->second.pod;
}

void Cluster::nominate(PodRef pod, const std::string& node) {
    clear_nomination(pod->uid);
    nominations_[pod->uid] = node;
    nominated_[node].push_back(std::move(pod));
}

void Cluster::clear_nomination(const std::string& uid) {
    const auto found = nominations_.find(uid);
    if (found == nominations_.end()) return;
    const auto waiting = nominated_.find(found->second);
    std::erase_if(waiting->second, [&](const PodRef& pod) { return pod->uid == uid; });
    if (waiting->second.empty()) nominated_.erase(waiting);
    nominations_.erase(found);
}

const std::string* Cluster::find_nomination(const std::string& uid) const {
    const auto found = nominations_.find(uid);
    return found == nominations_.end() ? nullptr : &found->second;
}

std::span<const PodRef> Cluster::nominated(const std::string& node) const {
    if (nominated_.empty()) return {};
    const auto found = nominated_.find(node);
    return found == nominated_.end() ? std::span<const PodRef>() : std::span<const PodRef>(found->second);
}

const Labels& Cluster::namespace_labels(const std::string& name) const {
    static const Labels none;
    const auto found = namespaces_.find(name);
    return found == namespaces_.end() ? none : found->second;
}

// ---- classes

PodClass& Cluster::ensure_class(const PodRef& pod) {
    auto& slot = classes_[class_text(*pod)];
    if (slot) return *slot;
    slot = std::make_unique<PodClass>();
    slot->example = pod;
    if (free_class_ids_.empty()) {
        slot->id = class_limit();
        class_ids_.push_back(true);
    } else {
        slot->id = free_class_ids_.back();
        free_class_ids_.pop_back();
        class_ids_[slot->id] = true;
    }
    all_classes_.push_back(slot.get());
    classes_by_namespace_[pod->namespace_].push_back(slot.get());
    if (!pod->affinity_text.empty()) classes_with_affinity_.push_back(slot.get());
    return *slot;
}

void Cluster::drop_class(PodClass& pod_class) {
    const PodRef example = pod_class.example;
    class_ids_[pod_class.id] = false;
    free_class_ids_.push_back(pod_class.id);
    erase_pointer(all_classes_, &pod_class);
    erase_pointer(classes_with_affinity_, &pod_class);
    const auto siblings = classes_by_namespace_.find(example->namespace_);
    erase_pointer(siblings->second, &pod_class);
    if (siblings->second.empty()) classes_by_namespace_.erase(siblings);
    classes_.erase(class_text(*example));
}

std::span<PodClass* const> Cluster::classes(const std::string& namespace_) const {
    const auto found = classes_by_namespace_.find(namespace_);
    return found == classes_by_namespace_.end() ? std::span<PodClass* const>() : std::span<PodClass* const>(found->second);
}

}  // namespace porthole::scheduler
