#include "controllers/garbage_collector/graph.h"

#include <algorithm>

#include "client/owners.h"

namespace porthole::controllers::garbage {

using api::meta::v1::ObjectMeta;
using api::meta::v1::OwnerReference;

namespace {

bool blocks(const OwnerReference& reference) { return reference.block_owner_deletion.value_or(false); }

const OwnerReference* find_reference(const std::vector<OwnerReference>& owners, const Uid& uid) {
    const auto found = std::ranges::find(owners, uid, &OwnerReference::uid);
    return found == owners.end() ? nullptr : &*found;
}

/// Whether the reference points at that very object and not at one of another name or kind with the same uid.
bool points_at(const OwnerReference& reference, const Identity& identity) {
    return reference.name == identity.key.name && reference.kind == identity.kind;
}

}  // namespace

const Node* Graph::find(const Uid& uid) const {
    const auto found = nodes_.find(uid);
    return found == nodes_.end() ? nullptr : &found->second;
}

const std::set<Uid>& Graph::dependents(const Uid& owner) const {
    static const std::set<Uid> none;
    const auto found = dependents_.find(owner);
    return found == dependents_.end() ? none : found->second;
}

std::vector<const Node*> Graph::blocking_dependents(const Node& owner) const {
    std::vector<const Node*> blocking;
    for (const Uid& uid : dependents(owner.uid)) {
        const Node* dependent = find(uid);
        const OwnerReference* reference = dependent ? find_reference(dependent->owners, owner.uid) : nullptr;
        if (reference && blocks(*reference)) blocking.push_back(dependent);
    }
    return blocking;
}

void Graph::observed(Identity identity, const ObjectMeta& metadata) {
    auto [position, created] = nodes_.try_emplace(metadata.uid);
    Node& node = position->second;
    if (created) {
        node.uid = metadata.uid;
        node.identity = std::move(identity);
    } else if (node.is_virtual) {
        // Who pointed here with another name, kind or namespace has no owner in truth.
        const bool same = node.identity.key == identity.key && node.identity.kind == identity.kind;
        node.is_virtual = false;
        node.identity = std::move(identity);
        if (!same) check_dependents(node.uid);
    }
    change_owners(node, metadata.owner_references);
    become(node, metadata);
}

void Graph::change_owners(Node& node, std::vector<OwnerReference> owners) {
    const std::vector<OwnerReference> before = std::exchange(node.owners, std::move(owners));
    for (const OwnerReference& old : before) {
        const OwnerReference* now = find_reference(node.owners, old.uid);
        if (now && (blocks(*now) || !blocks(old))) continue;
        // One dependent less that the owner has to wait for.
        if (!now) unlink(node.uid, old.uid);
        if (const Node* owner = find(old.uid); owner && owner->deleting_dependents) events_.check(old.uid);
    }
    for (const OwnerReference& owner : node.owners)
        if (!find_reference(before, owner.uid)) link(node, owner);
}

void Graph::link(const Node& dependent, const OwnerReference& reference) {
    auto [position, created] = nodes_.try_emplace(reference.uid);
    Node& owner = position->second;
    dependents_[reference.uid].insert(dependent.uid);
    if (created) {
        owner.uid = reference.uid;
        owner.is_virtual = true;
        owner.identity = {reference.api_version, reference.kind, {dependent.identity.key.namespace_, reference.name}};
        events_.check(owner.uid);
        return;
    }
    const bool elsewhere =
        !owner.is_virtual && !owner.identity.key.namespace_.empty() && owner.identity.key.namespace_ != dependent.identity.key.namespace_;
    if (!points_at(reference, owner.identity) || elsewhere || owner.deleting_dependents) events_.check(dependent.uid);
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

void Graph::become(Node& node, const ObjectMeta& metadata) {
    node.deleting = metadata.deletion_timestamp.has_value();
    const bool foreground = node.deleting && client::has_finalizer(metadata, ForegroundFinalizer);
    const bool orphaning = node.deleting && client::has_finalizer(metadata, OrphanFinalizer);
    if (orphaning && !std::exchange(node.orphaning, true)) events_.orphan(node.uid);
    if (foreground && !std::exchange(node.deleting_dependents, true)) {
        check_dependents(node.uid);
        events_.check(node.uid);
    }
    node.orphaning = orphaning;
    node.deleting_dependents = foreground;
}

void Graph::removed(const Uid& uid) {
    const auto found = nodes_.find(uid);
    if (found == nodes_.end()) return;
    const Node node = std::move(found->second);
    nodes_.erase(found);
    for (const OwnerReference& owner : node.owners) {
        unlink(uid, owner.uid);
        if (const Node* waiting = find(owner.uid); waiting && waiting->deleting_dependents) events_.check(owner.uid);
    }
    check_dependents(uid);
}

void Graph::check_dependents(const Uid& owner) {
    for (const Uid& dependent : dependents(owner)) events_.check(dependent);
}

}  // namespace porthole::controllers::garbage
