#include "controllers/garbage_collector/graph.h"

#include <algorithm>

#include "objects/owners.h"

namespace porthole::controllers::garbage {

using api::meta::v1::ObjectMeta;
using api::meta::v1::OwnerReference;

namespace {

bool blocks(const OwnerReference& reference) { return reference.block_owner_deletion.value_or(false); }

/// The first of each owner.
std::map<std::string_view, const OwnerReference*> by_uid(const std::vector<OwnerReference>& owners) {
    std::map<std::string_view, const OwnerReference*> found;
    for (const OwnerReference& owner : owners) found.emplace(owner.uid, &owner);
    return found;
}

const OwnerReference* find_reference(const std::vector<OwnerReference>& owners, const Uid& uid) {
    const auto found = std::ranges::find(owners, uid, &OwnerReference::uid);
    return found == owners.end() ? nullptr : &*found;
}

/// Whether the reference points at that very object and not at one of another name or kind with the same uid.
bool points_at(const OwnerReference& reference, const Node& node) {
    return reference.name == node.item->key.name && reference.kind == node.kind->kind;
}

/// Whether the owner is in another namespace than the dependent, and so no owner of it.
bool is_elsewhere(const Node& owner, const Node& dependent) {
    const std::string& namespace_ = owner.item->key.namespace_;
    return !owner.is_virtual && !namespace_.empty() && namespace_ != dependent.item->key.namespace_;
}

/// The owner that `dependent` refers to, as if it were there.
Node virtual_node(const Node& dependent, const OwnerReference& reference) {
    Item item;
    item.key = {dependent.item->key.namespace_, reference.name};
    item.uid = reference.uid;
    return {std::make_shared<const KindName>(reference.api_version, reference.kind), std::make_shared<const Item>(std::move(item)), true};
}

}  // namespace

Item item_of(ObjectMeta metadata) {
    Item item;
    item.deleting = metadata.deletion_timestamp.has_value();
    item.deleting_dependents = item.deleting && objects::has_finalizer(metadata, ForegroundFinalizer);
    item.orphaning = item.deleting && objects::has_finalizer(metadata, OrphanFinalizer);
    item.key = {std::move(metadata.namespace_), std::move(metadata.name)};
    item.uid = std::move(metadata.uid);
    item.owners = std::move(metadata.owner_references);
    return item;
}

const Node* Graph::find(const Uid& uid) const {
    const auto found = nodes_.find(uid);
    return found == nodes_.end() ? nullptr : &found->second;
}

const std::set<Uid>& Graph::dependents(const Uid& owner) const {
    static const std::set<Uid> none;
    const auto found = dependents_.find(owner);
    return found == dependents_.end() ? none : found->second;
}

std::vector<const Node*> Graph::dependents_of(const Node& owner) const {
    std::vector<const Node*> own;
    for (const Uid& uid : dependents(owner.item->uid))
        if (const Node* dependent = find(uid); dependent && !is_elsewhere(owner, *dependent)) own.push_back(dependent);
    return own;
}

std::vector<const Node*> Graph::blocking_dependents(const Node& owner) const {
    std::vector<const Node*> blocking = dependents_of(owner);
    std::erase_if(blocking, [&](const Node* dependent) {
        const OwnerReference* reference = find_reference(dependent->item->owners, owner.item->uid);
        return !reference || !blocks(*reference);
    });
    return blocking;
}

std::pair<Node&, std::shared_ptr<const Item>> Graph::put(std::shared_ptr<const Item> item) {
    const auto found = nodes_.find(item->uid);
    if (found == nodes_.end()) {
        Node& node = nodes_[item->uid];
        node.item = std::move(item);
        return {node, nullptr};
    }
    auto taken = nodes_.extract(found);
    taken.key() = item->uid;  // the old one goes with the old item
    std::shared_ptr<const Item> before = std::exchange(taken.mapped().item, std::move(item));
    return {nodes_.insert(std::move(taken)).position->second, std::move(before)};
}

void Graph::observed(std::shared_ptr<const KindName> kind, std::shared_ptr<const Item> item) {
    static const Item unknown;
    const auto [node, before] = put(std::move(item));
    if (!before) {
        node.kind = std::move(kind);
    } else if (node.is_virtual) {
        // Who pointed here with another name, kind or namespace has no owner in truth.
        const bool same = before->key == node.item->key && node.kind->kind == kind->kind;
        node.is_virtual = false;
        node.kind = std::move(kind);
        if (!same) check_dependents(node.item->uid);
    }
    compare_owners(node, before ? before->owners : unknown.owners);
    compare_deletion(node, before ? *before : unknown);
}

void Graph::compare_owners(const Node& node, const std::vector<OwnerReference>& before) {
    const Item& item = *node.item;
    if (before == item.owners) return;
    const auto now = by_uid(item.owners), earlier = by_uid(before);  // there may be thousands
    for (const OwnerReference& old : before) {
        const auto kept = now.find(old.uid);
        if (kept != now.end() && (blocks(*kept->second) || !blocks(old))) continue;
        // One dependent less that the owner has to wait for.
        if (kept == now.end()) unlink(item.uid, old.uid);
        if (const Node* owner = find(old.uid); owner && owner->item->deleting_dependents) events_.check(old.uid);
    }
    for (const OwnerReference& owner : item.owners)
        if (!earlier.contains(owner.uid)) link(node, owner);
}

void Graph::link(const Node& dependent, const OwnerReference& reference) {
    dependents_[reference.uid].insert(dependent.item->uid);
    auto found = nodes_.find(reference.uid);
    if (found == nodes_.end()) {
        Node missing = virtual_node(dependent, reference);
        found = nodes_.emplace(missing.item->uid, missing).first;
    }
    Node* owner = &found->second;
    const bool many = dependent.item->owners.size() > ManyOwners;
    if (owner->is_virtual && !many && !std::exchange(owner->asked_for, true)) events_.check(reference.uid);
    if (!points_at(reference, *owner) || is_elsewhere(*owner, dependent) || owner->item->deleting_dependents || (owner->is_virtual && many))
        events_.check(dependent.item->uid);
}

void Graph::unlink(const Uid& dependent, const Uid& owner) {
    const auto found = dependents_.find(owner);
    if (found == dependents_.end()) return;
    found->second.erase(dependent);
    if (!found->second.empty()) return;
    dependents_.erase(found);
    const auto node = nodes_.find(owner);
    if (node != nodes_.end() && node->second.is_virtual) nodes_.erase(node);
}

void Graph::compare_deletion(const Node& node, const Item& before) {
    const Item& item = *node.item;
    if (item.orphaning && !before.orphaning) events_.orphan(item.uid);
    if (!item.deleting_dependents || before.deleting_dependents) return;
    check_dependents(item.uid);
    events_.check(item.uid);
}

void Graph::removed(const Uid& uid) {
    const auto found = nodes_.find(uid);
    if (found == nodes_.end()) return;
    const std::shared_ptr<const Item> item = found->second.item;
    nodes_.erase(found);
    for (const OwnerReference& owner : item->owners) {
        unlink(item->uid, owner.uid);
        if (const Node* waiting = find(owner.uid); waiting && waiting->item->deleting_dependents) events_.check(owner.uid);
    }
    check_dependents(item->uid);
}

void Graph::check_dependents(const Uid& owner) {
    for (const Uid& dependent : dependents(owner)) events_.check(dependent);
}

}  // namespace porthole::controllers::garbage
