#include "controllers/garbage_collector/garbage_collector.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/result.h"
#include "client/informers/informer_core.h"
#include "objects/owners.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using api::meta::v1::ObjectMeta;
using api::meta::v1::OwnerReference;
using client::NamespacedName;
using client::Requeue;
using namespace garbage;

namespace {

constexpr Duration RefreshTime = std::chrono::seconds(30);
constexpr Duration LongestSync = std::chrono::seconds(30);
constexpr std::size_t AbsentRemembered = 500;
constexpr const char* CheckQueue = "check";
constexpr const char* OrphanQueue = "orphan";

/// Keeps what the graph needs of an object.
Result<client::InformerCore::Codec::Decoded> decode_item(std::string_view json) {
    TRY(const std::string_view text, client::json_member(json, "metadata"));
    TRY(ObjectMeta metadata, schema::decode_json<ObjectMeta>(text));
    std::string version = std::move(metadata.resource_version);
    auto item = std::make_shared<const Item>(item_of(std::move(metadata)));
    NamespacedName key = item->key;
    return client::InformerCore::Codec::Decoded{std::move(item), std::move(key), std::move(version)};
}

/// Different for each owner, whatever its reference contains.
std::string text_of(const Identity& identity, const Uid& uid) {
    std::string text;
    for (const std::string* field : {&identity.api_version, &identity.kind, &identity.key.namespace_, &identity.key.name, &uid})
        text += std::to_string(field->size()) + ":" + *field;
    return text;
}

std::shared_ptr<const Item> typed(const client::InformerCore::Object& object) { return std::static_pointer_cast<const Item>(object); }

bool is_event(const client::DiscoveredResource& resource) {
    return resource.plural == "events" && (resource.group.empty() || resource.group == "events.k8s.io");
}

bool is_followed(const client::DiscoveredResource& resource) {
    return resource.has_verb("list") && resource.has_verb("watch") && resource.has_verb("delete") && !is_event(resource);
}

}  // namespace

/// Feeds the graph with the objects of one kind.
class GarbageCollector::Watcher {
public:
    Watcher(Context& context, Graph& graph, client::DiscoveredResourcePtr resource)
        : graph_(graph),
          resource_(std::move(resource)),
          kind_(std::make_shared<const KindName>(resource_->table.api_version(), resource_->kind)),
          core_({context.loop, context.client, context.random, context.log.named("garbage-collector")},
                {resource_->table, true, decode_item}, {}),
          scope_(context.loop) {
        const auto observe = [this](const client::InformerCore::Object& object) { graph_.observed(kind_, typed(object)); };
        core_.subscribe({.added = observe,
                         .updated =
                             [this, observe](const auto& old, const auto& now) {
                                 // A relist can show a namesake in place of an object that has been deleted in between.
                                 if (typed(old)->uid != typed(now)->uid) graph_.removed(typed(old)->uid);
                                 observe(now);
                             },
                         .deleted = [this](const auto& object) { graph_.removed(typed(object)->uid); }});
        scope_.spawn(core_.run());
    }
    bool synced() const { return core_.synced(); }
    Task<> close() { return scope_.close(); }

private:
    Graph& graph_;
    client::DiscoveredResourcePtr resource_;
    std::shared_ptr<const KindName> kind_;
    client::InformerCore core_;
    Scope scope_;
};

GarbageCollector::GarbageCollector(Context& context)
    : Controller(context.loop, context.log, {.name = "garbage-collector", .workers = 20}),
      context_(context),
      events_(context.events.get("garbage-collector-controller")),
      graph_({.check = [this](const Uid& uid) { queue().add({CheckQueue, uid}); },
              .orphan = [this](const Uid& uid) { queue().add({OrphanQueue, uid}); }}),
      absent_(AbsentRemembered) {}

GarbageCollector::~GarbageCollector() = default;

bool GarbageCollector::all_synced() const {
    return std::ranges::all_of(watchers_, [](const auto& entry) { return entry.second->synced(); });
}

Task<> GarbageCollector::background() {
    Result<void> ended;
    while (ended) {
        if (Result<void> refreshed = co_await refresh_kinds(); !refreshed && !is_cancelled(refreshed))
            log().warn("API discovery failed", {{"error", refreshed.error().message}});
        // Deleting begins when every kind has been seen once; a kind that cannot be listed must not hold up all others for ever,
        // and is safe: nothing is deleted without asking the server for its owners.
        const MonotonicTime started = loop().now();
        while (ended && !ready_.is_set() && !(all_synced() && !watchers_.empty()) && loop().now() - started < LongestSync)
            ended = co_await loop().sleep(std::chrono::milliseconds(100));
        if (!ready_.is_set() && !watchers_.empty()) ready_.set();
        if (ended) ended = co_await loop().sleep(ready_.is_set() ? RefreshTime : std::chrono::seconds(1));
    }
    for (auto& [name, watcher] : watchers_) (void)co_await watcher->close();
    co_return ended;
}

Task<> GarbageCollector::refresh_kinds() {
    CO_TRY(client::Discovery discovery, co_await client::discover(context_.client));
    std::set<std::string> present;
    for (const auto& resource : discovery.resources) {
        present.insert(resource->name());
        if (is_followed(*resource) && !watchers_.contains(resource->name()))
            watchers_.emplace(resource->name(), std::make_unique<Watcher>(context_, graph_, resource));
    }
    // What a group that does not answer serves is not known, so nothing is forgotten then.
    if (discovery.failures.empty()) {
        for (auto watcher = watchers_.begin(); watcher != watchers_.end();) {
            if (present.contains(watcher->first)) {
                ++watcher;
                continue;
            }
            (void)co_await watcher->second->close();
            watcher = watchers_.erase(watcher);
        }
    } else {
        for (const auto& known : resources_)
            if (!present.contains(known->name())) discovery.resources.push_back(known);
    }
    resources_ = std::move(discovery.resources);
    co_return {};
}

Task<Requeue> GarbageCollector::reconcile(NamespacedName key) {
    CO_TRY_VOID(co_await ready_.wait());
    if (key.namespace_ == OrphanQueue) {
        CO_TRY_VOID(co_await orphan_dependents(key.name));
    } else {
        CO_TRY_VOID(co_await check(key.name));
    }
    co_return Requeue::never();
}

Task<> GarbageCollector::check(Uid uid) {
    const Node* node = graph_.find(uid);
    if (!node || (node->item->deleting && !node->item->deleting_dependents)) co_return {};
    const Identity identity = node->identity();
    CO_TRY(std::optional<ObjectMeta> live, co_await read(identity));
    node = graph_.find(uid);
    if (!node) co_return {};
    if (!live || live->uid != uid) {
        // The watch will say so, too, but not of an owner that was never there.
        absent_.put(text_of(identity, uid), {});
        // A reference may have named it wrongly, and the watch may have shown it since.
        if (node->identity() == identity) graph_.removed(uid);
        co_return {};
    }
    if (node->item->deleting_dependents) co_return co_await wait_for_dependents(std::move(uid), std::move(*live));
    co_return co_await decide(std::move(uid), std::move(*live));
}

Task<> GarbageCollector::wait_for_dependents(Uid uid, ObjectMeta live) {
    const Node* node = graph_.find(uid);
    const auto blocking = graph_.blocking_dependents(*node);
    if (blocking.empty()) co_return co_await remove_finalizer(node->identity(), std::move(live), ForegroundFinalizer);
    for (const Node* dependent : blocking)
        if (!dependent->item->deleting_dependents) queue().add({CheckQueue, dependent->item->uid});
    co_return {};
}

Task<> GarbageCollector::decide(Uid uid, ObjectMeta live) {
    if (live.owner_references.empty()) co_return {};
    const Identity identity = graph_.find(uid)->identity();
    CO_TRY(const Owners owners, co_await classify(identity, live.owner_references));
    if (owners.unresolvable) co_return {};
    if (!owners.solid.empty()) {
        if (owners.dangling.empty() && owners.waiting.empty()) co_return {};
        co_return co_await write_owners(identity, std::move(live), owners.solid);
    }
    const Node* node = graph_.find(uid);
    if (!node) co_return {};
    std::string policy = "Background";
    if (objects::has_finalizer(live, OrphanFinalizer))
        policy = "Orphan";
    else if (objects::has_finalizer(live, ForegroundFinalizer))
        policy = "Foreground";
    if (!owners.waiting.empty() && !graph_.dependents_of(*node).empty()) {
        // The owner waits for this one, so this one has to wait for its own dependents, unless they wait for it in a circle.
        policy = "Foreground";
        CO_TRY_VOID(co_await unblock_circular(*node));
        CO_TRY(std::optional<ObjectMeta> fresh, co_await read(identity));
        if (!fresh) co_return {};
        live = std::move(*fresh);
    }
    CO_TRY(const std::string object_path, path(identity));
    CO_TRY_VOID(ignore_not_found(co_await context_.client.remove_raw(
        object_path, {.uid = live.uid, .resource_version = live.resource_version, .propagation_policy = std::move(policy)})));
    co_return {};
}

Task<GarbageCollector::Owners> GarbageCollector::classify(const Identity& item, const std::vector<OwnerReference>& references) {
    Owners owners;
    CO_TRY(const Listed listed, co_await list_owners(item, references));
    for (const OwnerReference& reference : references) {
        if (needs_namespace(item, reference)) {
            tell_of_wrong_namespace(item, reference);
            owners.unresolvable = true;
            continue;
        }
        CO_TRY(const std::optional<ObjectMeta> owner, co_await look_up_owner(item, reference, listed));
        if (!owner) {
            if (is_elsewhere(item, reference)) tell_of_wrong_namespace(item, reference);
            owners.dangling.push_back(reference);
        } else if (owner->deletion_timestamp && objects::has_finalizer(*owner, ForegroundFinalizer))
            owners.waiting.push_back(reference);
        else
            owners.solid.push_back(reference);
    }
    co_return std::move(owners);
}

Task<GarbageCollector::Listed> GarbageCollector::list_owners(Identity item, const std::vector<OwnerReference>& references) {
    std::map<client::DiscoveredResourcePtr, std::set<std::string_view>> wanted;
    for (const OwnerReference& reference : references) {
        const client::DiscoveredResourcePtr resource = find_resource(reference.api_version, reference.kind);
        const bool reachable = resource && !(resource->namespaced && item.key.namespace_.empty());
        if (reachable && resource->has_verb("list")) wanted[resource].insert(reference.uid);
    }
    Listed listed;
    for (const auto& [resource, uids] : wanted) {
        if (uids.size() <= ManyOwners) continue;
        auto& found = listed[resource->name()];
        client::ListOptions options{.namespace_ = item.key.namespace_, .limit = 500};
        do {
            CO_TRY(const net::Bytes body, co_await context_.client.list_raw(resource->table, options, true));
            CO_TRY(client::ListSlices list, client::slice_list(*body));
            for (const std::string_view text : list.items) {
                CO_TRY(const std::string_view metadata_text, client::json_member(text, "metadata"));
                CO_TRY(ObjectMeta metadata, schema::decode_json<ObjectMeta>(metadata_text));
                if (!uids.contains(metadata.uid)) continue;
                ObjectMeta& owner = found[metadata.uid];  // without what may be large
                owner.name = std::move(metadata.name);
                owner.uid = std::move(metadata.uid);
                owner.deletion_timestamp = metadata.deletion_timestamp;
                owner.finalizers = std::move(metadata.finalizers);
            }
            options.continue_ = std::move(list.continue_);
        } while (!options.continue_.empty());
    }
    co_return std::move(listed);
}

bool GarbageCollector::needs_namespace(const Identity& item, const OwnerReference& owner) const {
    const client::DiscoveredResourcePtr resource = find_resource(owner.api_version, owner.kind);
    return resource && resource->namespaced && item.key.namespace_.empty();
}

bool GarbageCollector::is_elsewhere(const Identity& item, const OwnerReference& owner) const {
    const Node* known = graph_.find(owner.uid);
    if (!known || known->is_virtual) return false;
    const std::string& space = known->item->key.namespace_;
    return !space.empty() && space != item.key.namespace_;
}

void GarbageCollector::tell_of_wrong_namespace(const Identity& item, const OwnerReference& owner) {
    api::core::v1::ObjectReference about;
    about.api_version = item.api_version;
    about.kind = item.kind;
    about.namespace_ = item.key.namespace_;
    about.name = item.key.name;
    events_.warning(about, "OwnerRefInvalidNamespace",
                    fmt::format("ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace \"{}\"", owner.api_version,
                                owner.kind, about.namespace_, owner.name, owner.uid, about.namespace_));
}

/// nullopt when there is no such owner: the name is taken by another object, or the reference leads to another namespace.
Task<std::optional<ObjectMeta>> GarbageCollector::look_up_owner(Identity item, OwnerReference owner, const Listed& listed) {
    const client::DiscoveredResourcePtr resource = find_resource(owner.api_version, owner.kind);
    if (!resource) co_return Error(Reason::NotFound, "no kind " + owner.kind + " in " + owner.api_version);
    if (const auto list = listed.find(resource->name()); list != listed.end()) {
        const auto found = list->second.find(owner.uid);
        const bool is_it = found != list->second.end() && found->second.name == owner.name;
        co_return is_it ? std::optional(found->second) : std::nullopt;
    }
    Identity identity{owner.api_version, owner.kind, {resource->namespaced ? item.key.namespace_ : "", owner.name}};
    if (absent_.find(text_of(identity, owner.uid))) co_return std::optional<ObjectMeta>();
    CO_TRY(std::optional<ObjectMeta> found, co_await read(identity));
    if (found && found->uid != owner.uid) found.reset();
    if (!found) absent_.put(text_of(identity, owner.uid), {});
    co_return std::move(found);
}

Task<> GarbageCollector::unblock_circular(const Node& node) {
    std::vector<Identity> circular;
    for (const Node* dependent : graph_.dependents_of(node))
        if (dependent->item->deleting_dependents) circular.push_back(dependent->identity());
    if (circular.empty()) co_return {};
    const Identity identity = node.identity();
    CO_TRY(std::optional<ObjectMeta> live, co_await read(identity));
    if (!live) co_return {};
    std::vector<OwnerReference> owners = live->owner_references;
    for (OwnerReference& owner : owners) owner.block_owner_deletion = false;
    co_return co_await write_owners(identity, std::move(*live), std::move(owners));
}

Task<> GarbageCollector::orphan_dependents(Uid uid) {
    const Node* node = graph_.find(uid);
    if (!node || !node->item->orphaning) co_return {};
    const Identity identity = node->identity();
    std::vector<Identity> dependents;
    for (const Node* dependent : graph_.dependents_of(*node)) dependents.push_back(dependent->identity());
    for (const Identity& dependent : dependents) {
        CO_TRY(std::optional<ObjectMeta> live, co_await read(dependent));
        if (!live) continue;
        std::vector<OwnerReference> owners = live->owner_references;
        if (std::erase_if(owners, [&](const OwnerReference& owner) { return owner.uid == uid; }) == 0) continue;
        CO_TRY_VOID(co_await write_owners(dependent, std::move(*live), std::move(owners)));
    }
    CO_TRY(std::optional<ObjectMeta> live, co_await read(identity));
    if (!live || live->uid != uid) co_return {};
    co_return co_await remove_finalizer(identity, std::move(*live), OrphanFinalizer);
}

Task<std::optional<ObjectMeta>> GarbageCollector::read(Identity identity) {
    CO_TRY(const std::string object_path, path(identity));
    const Result<net::Bytes> body = co_await context_.client.get_raw(object_path, "", client::MetadataObject);
    if (is_not_found(body)) co_return std::optional<ObjectMeta>();
    if (!body) co_return body.error();
    CO_TRY(const std::string_view text, client::json_member(**body, "metadata"));
    CO_TRY(ObjectMeta metadata, schema::decode_json<ObjectMeta>(text));
    co_return std::optional<ObjectMeta>(std::move(metadata));
}

Task<> GarbageCollector::write_owners(Identity identity, ObjectMeta live, std::vector<OwnerReference> owners) {
    schema::Value list = schema::Value::array();
    for (const OwnerReference& owner : owners) list.as_array().push_back(schema::to_value(owner));
    co_return co_await patch(std::move(identity), live, "ownerReferences", owners.empty() ? schema::Value() : std::move(list));
}

Task<> GarbageCollector::remove_finalizer(Identity identity, ObjectMeta live, std::string finalizer) {
    if (std::erase(live.finalizers, finalizer) == 0) co_return {};
    schema::Value list = schema::Value::array();
    for (const std::string& kept : live.finalizers) list.as_array().push_back(kept);
    co_return co_await patch(std::move(identity), live, "finalizers", live.finalizers.empty() ? schema::Value() : std::move(list));
}

/// Guarded by uid and version: Conflict when the object has changed, and then everything is looked at again.
Task<> GarbageCollector::patch(Identity identity, const ObjectMeta& live, const char* field, schema::Value value) {
    schema::Value document;
    document.ensure_path({"metadata", "uid"}) = live.uid;
    document.ensure_path({"metadata", "resourceVersion"}) = live.resource_version;
    document.ensure_path({"metadata", field}) = std::move(value);
    CO_TRY(const std::string object_path, path(identity));
    CO_TRY_VOID(ignore_not_found(co_await context_.client.patch_raw(object_path, client::PatchType::Merge, schema::to_json(document))));
    co_return {};
}

client::DiscoveredResourcePtr GarbageCollector::find_resource(const std::string& api_version, const std::string& kind) const {
    const std::string group = api_version.contains('/') ? api_version.substr(0, api_version.find('/')) : "";
    for (const auto& resource : resources_)
        if (resource->group == group && resource->kind == kind) return resource;
    return nullptr;
}

Result<std::string> GarbageCollector::path(const Identity& identity) const {
    const client::DiscoveredResourcePtr resource = find_resource(identity.api_version, identity.kind);
    if (!resource) return Error(Reason::NotFound, "no kind " + identity.kind + " in " + identity.api_version);
    NamespacedName key = identity.key;
    if (!resource->namespaced) key.namespace_.clear();
    return client::Client::path(resource->table, key, "");
}

Result<ControllerPtr> make_garbage_collector(Context& context) { return make_controller<GarbageCollector>(context); }

}  // namespace porthole::controllers
