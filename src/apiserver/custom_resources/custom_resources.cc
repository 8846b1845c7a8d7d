#include "apiserver/custom_resources/custom_resources.h"

#include <algorithm>
#include <set>

#include "apiserver/storage/keys.h"
#include "objects/conditions.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr Duration AskAgain = std::chrono::seconds(1);

bool is_terminating(const CustomResourceDefinition& definition) {
    const auto& finalizers = definition.metadata.finalizers;
    return definition.metadata.deletion_timestamp && std::ranges::find(finalizers, CleanupFinalizer) != finalizers.end();
}

/// Whether both are served alike.
bool serves_alike(const CustomResourceDefinition& left, const CustomResourceDefinition& right) {
    const auto terminating = [](const CustomResourceDefinition& one) {
        return objects::is_condition_true(one.status.conditions, "Terminating");
    };
    return left.metadata.uid == right.metadata.uid && left.spec == right.spec &&
           left.status.accepted_names == right.status.accepted_names && terminating(left) == terminating(right);
}

}  // namespace

struct CustomResources::Entry {
    Definition definition;
    Definition served_for;  ///< what `kind` was made of
    std::shared_ptr<const CustomKind> kind;
    bool removing = false;  ///< a task removes its instances
};

CustomResources::CustomResources(Seams seams)
    : seams_(std::move(seams)), scope_(seams_.loop, [this](const Error& error) {
          seams_.log.warn("a custom resource's instances cannot be removed", {{"error", error.message}});
      }) {}

CustomResources::~CustomResources() = default;

Task<> CustomResources::close() { return scope_.close(); }

const schema::Value* CustomResources::schema_of(const schema::Type& type) const {
    for (const auto& [name, entry] : entries_)
        if (const schema::Value* found = entry->kind ? entry->kind->schema_of(type) : nullptr) return found;
    return nullptr;
}

// --- What is served ---

Result<void> CustomResources::load() {
    TRY(const store::Range range, seams_.objects.store().range({.prefix = kind_prefix(CustomResourceDefinition::kind())}));
    std::set<std::string> present;
    for (const store::RecordPtr& record : range.records) {
        put(*record);
        present.insert(record->key.substr(kind_prefix(CustomResourceDefinition::kind()).size()));
    }
    std::vector<std::string> gone;
    for (const auto& [name, entry] : entries_)
        if (!present.contains(name)) gone.push_back(name);
    for (const std::string& name : gone) forget(name);
    revision_ = range.revision;
    return {};
}

void CustomResources::put(const store::Record& record) {
    auto decoded = schema::decode_json<CustomResourceDefinition>(*record.value);
    if (!decoded)
        return seams_.log.warn("a definition cannot be read and is left out", {{"key", record.key}, {"error", decoded.error().message}});
    auto& entry = entries_[decoded->metadata.name];
    if (!entry) entry = std::make_unique<Entry>();
    entry->definition = std::make_shared<const CustomResourceDefinition>(std::move(*decoded));
    if (is_established(*entry->definition)) serve(*entry, *entry->definition);
}

void CustomResources::forget(const std::string& name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    withdraw(*found->second);
    entries_.erase(found);
}

void CustomResources::serve(Entry& entry, const CustomResourceDefinition& definition) {
    if (entry.served_for && serves_alike(*entry.served_for, definition)) return;
    if (is_built_in(definition)) return;
    auto made = CustomKind::create(definition, form_);
    if (!made) {
        return seams_.log.warn("a definition cannot be served", {{"name", definition.metadata.name}, {"error", made.error().message}});
    }
    withdraw(entry);
    entry.kind = std::move(*made);
    entry.served_for = std::make_shared<const CustomResourceDefinition>(definition);
    const std::vector<ResourcePtr> resources = entry.kind->resources();
    seams_.resources.add(resources);
    for (const ResourcePtr& resource : resources) {
        if (!resource->kind->is(schema::Kind::Resource)) continue;
        seams_.registry.add(*resource->kind);
        seams_.changed(resource->kind->group, resource->kind->version);
    }
}

void CustomResources::withdraw(Entry& entry) {
    if (!entry.kind) return;
    const std::vector<ResourcePtr> resources = entry.kind->resources();
    seams_.resources.remove(resources);
    for (const ResourcePtr& resource : resources) {
        if (!resource->kind->is(schema::Kind::Resource)) continue;
        seams_.registry.remove(*resource->kind);
        seams_.changed(resource->kind->group, resource->kind->version);
    }
    entry.kind.reset();
    entry.served_for.reset();
}

bool CustomResources::is_built_in(const CustomResourceDefinition& definition) const {
    const auto& kinds = seams_.registry.kinds();
    return std::ranges::any_of(kinds, [&](const schema::Kind* kind) {
        return kind->type && kind->type->create && kind->group == definition.spec.group && kind->plural == definition.spec.names.plural;
    });
}

// --- Names and conditions ---

TakenNames CustomResources::taken_names(const CustomResourceDefinition& definition) const {
    TakenNames taken;
    for (const auto& [name, entry] : entries_)
        if (name != definition.metadata.name && entry->definition->spec.group == definition.spec.group) taken.add(*entry->definition);
    for (const schema::Kind* kind : seams_.registry.kinds()) {
        if (kind->group != definition.spec.group || !kind->type || !kind->type->create) continue;
        taken.kinds.emplace(kind->kind);
        if (!kind->plural.empty()) taken.resources.emplace(kind->plural);
        if (!kind->singular.empty()) taken.resources.emplace(kind->singular);
        for (const std::string_view name : kind->short_names) taken.resources.emplace(name);
    }
    return taken;
}

Task<> CustomResources::follow(client::Client& client) {
    while (true) {
        CO_TRY_VOID(load());
        std::set<std::string> groups;
        for (const auto& [name, entry] : entries_) groups.insert(entry->definition->spec.group);
        for (const std::string& group : groups) CO_TRY_VOID(co_await settle(group, client));
        auto watch = seams_.objects.store().watch({.prefix = kind_prefix(CustomResourceDefinition::kind()), .after = revision_});
        if (watch) CO_TRY_VOID(co_await take_changes(*watch, client));
    }
}

/// Ends well when the watch has expired.
Task<> CustomResources::take_changes(store::Watch& watch, client::Client& client) {
    while (true) {
        auto events = co_await watch.next();
        if (!events && events.error().reason == Reason::Expired) co_return {};
        if (!events) co_return std::move(events).error();
        std::set<std::string> groups;
        for (const store::EventPtr& event : *events) {
            const std::string name = event->record->key.substr(kind_prefix(CustomResourceDefinition::kind()).size());
            if (const auto known = entries_.find(name); known != entries_.end()) groups.insert(known->second->definition->spec.group);
            if (event->type == store::Event::Type::Delete)
                forget(name);
            else
                put(*event->record);
            if (const auto known = entries_.find(name); known != entries_.end()) groups.insert(known->second->definition->spec.group);
        }
        for (const std::string& group : groups) CO_TRY_VOID(co_await settle(group, client));
    }
}

Task<> CustomResources::settle(std::string group, client::Client& client) {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
        if (entry->definition->spec.group == group) names.push_back(name);
    for (const std::string& name : names) {
        const auto found = entries_.find(name);  // again: writing takes time
        if (found != entries_.end()) CO_TRY_VOID(co_await settle_one(*found->second, client));
    }
    co_return {};
}

Task<> CustomResources::settle_one(Entry& entry, client::Client& client) {
    CustomResourceDefinition definition = *entry.definition;
    if (is_terminating(definition) && !std::exchange(entry.removing, true))
        scope_.spawn(remove_instances(definition.metadata.name, client));
    CustomResourceDefinitionStatus status = settled_status(definition, taken_names(definition), false, Timestamp(seams_.loop.wall_now()));
    if (status == definition.status) co_return {};
    definition.status = std::move(status);
    // Names count from now on, and who is told that it is established finds it served.
    entry.definition = std::make_shared<const CustomResourceDefinition>(definition);
    if (is_established(definition)) serve(entry, definition);
    co_return co_await write_status(std::move(definition), client);
}

Task<> CustomResources::write_status(CustomResourceDefinition definition, client::Client& client) {
    const std::string name = definition.metadata.name;
    auto written = co_await client.update_status(std::move(definition));
    if (written || written.error().reason == Reason::Conflict || is_not_found(written)) co_return {};  // what has changed comes as an event
    if (is_cancelled(written)) co_return std::move(written).error();
    seams_.log.warn("the status of a definition cannot be written", {{"name", name}, {"error", written.error().message}});
    co_return {};
}

// --- Deletion ---

Task<> CustomResources::remove_instances(std::string name, client::Client& client) {
    while (true) {
        const auto found = entries_.find(name);
        if (found == entries_.end()) co_return {};
        // Of a definition that was never served, or that names a built-in resource, there are none.
        const std::shared_ptr<const CustomKind> kind = found->second->kind;
        bool done = true;
        if (kind) {
            auto removed = co_await remove_all(*kind->resources().front());
            if (is_cancelled(removed)) co_return std::move(removed).error();
            if (!removed) seams_.log.warn("instances cannot be removed", {{"definition", name}, {"error", removed.error().message}});
            done = removed && *removed;
        }
        if (done) {
            auto finished = co_await finish_removal(name, client);
            if (is_cancelled(finished)) co_return std::move(finished);
            if (finished) co_return {};
            seams_.log.warn("a definition's finalizer cannot be removed", {{"definition", name}, {"error", finished.error().message}});
        }
        CO_TRY_VOID(co_await seams_.loop.sleep(AskAgain));
    }
}

/// Yields whether none is left: those with finalizers stay until these are removed.
Task<bool> CustomResources::remove_all(const Resource& resource) {
    std::vector<std::string> warnings;
    std::map<std::string, std::string> annotations;
    const User user = loopback_user();
    WriteRequest request{.resource = resource, .user = user, .warnings = warnings, .audit_annotations = annotations};
    auto removed = co_await seams_.objects.remove_collection(std::move(request), DeleteOptions(), ListOptions());
    if (!removed) co_return std::move(removed).error();
    co_return seams_.objects.store().count(resource.prefix) == 0;
}

Task<> CustomResources::finish_removal(std::string name, client::Client& client) {
    CO_TRY(CustomResourceDefinition definition, co_await client.get<CustomResourceDefinition>({"", name}));
    set_terminating(definition.status, false, "InstanceDeletionCompleted", "removed all instances", Timestamp(seams_.loop.wall_now()));
    CO_TRY(definition, co_await client.update_status(std::move(definition)));
    std::erase(definition.metadata.finalizers, CleanupFinalizer);
    auto written = co_await client.update(std::move(definition));
    if (written || is_not_found(written)) co_return {};
    co_return std::move(written).error();
}

}  // namespace porthole::apiserver
