#include "apiserver/custom_resources/custom_resources.h"

#include <algorithm>
#include <set>

#include "apiserver/storage/keys.h"
#include "objects/conditions.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using api::apiextensions::v1::CustomResourceDefinitionNames;

constexpr Duration AskAgain = std::chrono::seconds(1);

bool is_terminating(const CustomResourceDefinition& definition) {
    const auto& finalizers = definition.metadata.finalizers;
    return definition.metadata.deletion_timestamp && std::ranges::find(finalizers, CleanupFinalizer) != finalizers.end();
}

/// What a definition is served by: a CustomKind is made again when it changes.
struct ServedAs {
    std::string uid;
    std::int64_t generation = 0;
    CustomResourceDefinitionNames names;
    bool terminating = false;

    explicit ServedAs(const CustomResourceDefinition& definition)
        : uid(definition.metadata.uid),
          generation(definition.metadata.generation),
          names(definition.status.accepted_names),
          terminating(is_leaving(definition)) {}
    bool operator==(const ServedAs&) const = default;
};

CustomResourceDefinition without_schemas(CustomResourceDefinition definition) {
    for (auto& version : definition.spec.versions) version.schema = {};
    return definition;
}

}  // namespace

struct CustomResources::Entry {
    CustomResourceDefinition definition;  ///< without its schemas, which are the largest part by far
    std::optional<ServedAs> served_as;
    std::shared_ptr<const CustomKind> kind;  ///< while it is served
    bool removing = false;                   ///< a task removes its instances
    std::string settled_version;             ///< the definition's resourceVersion when its status was last settled
    std::uint64_t settled_with = 0;          ///< names_form_ at that time
};

CustomResources::CustomResources(Seams seams)
    : seams_(std::move(seams)), caller_(seams_.outgoing, seams_.reader, seams_.random), scope_(seams_.loop, [this](const Error& error) {
          seams_.log.warn("a custom resource's instances cannot be removed", {{"error", error.message}});
      }) {}

CustomResources::~CustomResources() = default;

Task<> CustomResources::close() { return scope_.close(); }

std::optional<schema::Value> CustomResources::schema_of(const schema::Type& type) const {
    for (const auto& [name, entry] : entries_)
        if (auto found = entry->kind ? entry->kind->schema_of(type) : std::nullopt) return found;
    return std::nullopt;
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
    auto decoded = schema::decode_json<CustomResourceDefinition>(*record.value.bytes());
    if (!decoded)
        return seams_.log.warn("a definition cannot be read and is left out", {{"key", record.key}, {"error", decoded.error().message}});
    auto& entry = entries_[decoded->metadata.name];
    if (!entry) entry = std::make_unique<Entry>();
    if (is_established(*decoded)) serve(*entry, *decoded);
    if (entry->definition.metadata.uid != decoded->metadata.uid) entry->removing = false;
    if (entry->definition.status.accepted_names != decoded->status.accepted_names) ++names_form_;
    entry->definition = without_schemas(std::move(*decoded));
}

void CustomResources::forget(const std::string& name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    withdraw(*found->second);
    entries_.erase(found);
    ++names_form_;
}

void CustomResources::serve(Entry& entry, const CustomResourceDefinition& definition) {
    if (entry.served_as == ServedAs(definition) || is_built_in(definition)) return;
    auto made = CustomKind::create(definition, form_, converter_of(definition));
    if (!made) {
        return seams_.log.warn("a definition cannot be served", {{"name", definition.metadata.name}, {"error", made.error().message}});
    }
    withdraw(entry);
    const std::vector<ResourcePtr> resources = (*made)->resources();
    // Not with names that were accepted here: whoever may write statuses can give any.
    if (!seams_.resources.add(resources))
        return seams_.log.warn("a definition names what is served already", {{"name", definition.metadata.name}});
    entry.kind = std::move(*made);
    entry.served_as.emplace(definition);
    for (const ResourcePtr& resource : resources) {
        if (!resource->kind->is(schema::Kind::Resource)) continue;
        seams_.registry.add(*resource->kind);
        seams_.changed(resource->kind->group, resource->kind->version);
    }
}

std::unique_ptr<VersionConverter> CustomResources::converter_of(const CustomResourceDefinition& definition) {
    if (!has_conversion_webhook(definition)) return nullptr;
    const ConversionWebhook::Seams seams{.loop = seams_.loop, .random = seams_.random, .caller = caller_, .metrics = metrics_};
    return std::make_unique<VersionConverter>(std::make_unique<ConversionWebhook>(seams, definition), converted_);
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
    entry.served_as.reset();
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
        if (name != definition.metadata.name && entry->definition.spec.group == definition.spec.group) taken.add(entry->definition);
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
        for (const auto& [name, entry] : entries_) groups.insert(entry->definition.spec.group);
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
            if (const auto known = entries_.find(name); known != entries_.end()) groups.insert(known->second->definition.spec.group);
            if (event->type == store::Event::Type::Delete)
                forget(name);
            else
                put(*event->record);
            if (const auto known = entries_.find(name); known != entries_.end()) groups.insert(known->second->definition.spec.group);
        }
        for (const std::string& group : groups) CO_TRY_VOID(co_await settle(group, client));
    }
}

Task<> CustomResources::settle(std::string group, client::Client& client) {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
        if (entry->definition.spec.group == group) names.push_back(name);
    for (const std::string& name : names) {
        const auto found = entries_.find(name);  // again: writing takes time
        if (found != entries_.end()) CO_TRY_VOID(co_await settle_one(*found->second, client));
    }
    co_return {};
}

Task<> CustomResources::settle_one(Entry& entry, client::Client& client) {
    if (is_terminating(entry.definition) && !std::exchange(entry.removing, true))
        scope_.spawn(remove_instances(entry.definition.metadata.name, entry.definition.metadata.uid, client));
    // Nothing but itself and the names of the others decides: a group of a thousand is not gone through for each change of one.
    const std::string& version = entry.definition.metadata.resource_version;
    if (entry.settled_version == version && entry.settled_with == names_form_) co_return {};
    entry.settled_version = version;
    entry.settled_with = names_form_;
    const Timestamp now(seams_.loop.wall_now());
    CustomResourceDefinitionStatus status = settled_status(entry.definition, taken_names(entry.definition), now);
    if (status == entry.definition.status) co_return {};
    // Names count from now on, and who is told that it is established finds it served.
    if (entry.definition.status.accepted_names != status.accepted_names) ++names_form_;
    entry.definition.status = std::move(status);
    if (is_established(entry.definition)) serve_present(entry);
    co_return co_await write_status(entry.definition, client);
}

void CustomResources::serve_present(Entry& entry) {
    const store::RecordPtr record =
        seams_.objects.store().get(kind_prefix(CustomResourceDefinition::kind()) + entry.definition.metadata.name);
    auto definition =
        record ? schema::decode_json<CustomResourceDefinition>(*record->value.bytes()) : Result<CustomResourceDefinition>(Error());
    if (!definition || definition->metadata.resource_version != entry.definition.metadata.resource_version) return;  // another event comes
    definition->status = entry.definition.status;
    serve(entry, *definition);
}

Task<> CustomResources::write_status(CustomResourceDefinition definition, client::Client& client) {
    const std::string name = definition.metadata.name;
    schema::Value patch = schema::Value::object({{"status", schema::to_value(definition.status)}});
    patch["metadata"]["resourceVersion"] = definition.metadata.resource_version;
    auto written = co_await client.patch<CustomResourceDefinition>({"", name}, client::PatchType::Merge, schema::to_json(patch), "status");
    if (written || written.error().reason == Reason::Conflict || is_not_found(written)) co_return {};  // what has changed comes as an event
    if (is_cancelled(written)) co_return std::move(written).error();
    seams_.log.warn("the status of a definition cannot be written", {{"name", name}, {"error", written.error().message}});
    co_return {};
}

// --- Deletion ---

Task<> CustomResources::remove_instances(std::string name, std::string uid, client::Client& client) {
    while (true) {
        const auto found = entries_.find(name);
        // Another definition of this name keeps its instances.
        if (found == entries_.end() || found->second->definition.metadata.uid != uid) co_return {};
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
            auto finished = co_await finish_removal(name, uid, client);
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
    // A webhook whose server has gone must not keep its operator's definitions for ever.
    WriteRequest request{
        .resource = resource, .user = user, .warnings = warnings, .audit_annotations = annotations, .without_admission = true};
    auto removed = co_await seams_.objects.remove_collection(std::move(request), DeleteOptions(), ListOptions());
    if (!removed) co_return std::move(removed).error();
    co_return seams_.objects.store().count(resource.prefix) == 0;
}

Task<> CustomResources::finish_removal(std::string name, std::string uid, client::Client& client) {
    CO_TRY(CustomResourceDefinition definition, co_await client.get<CustomResourceDefinition>({"", name}));
    if (definition.metadata.uid != uid || !is_terminating(definition)) co_return {};
    set_terminating(definition.status, false, "InstanceDeletionCompleted", "removed all instances", Timestamp(seams_.loop.wall_now()));
    CO_TRY(definition, co_await client.update_status(std::move(definition)));
    std::erase(definition.metadata.finalizers, CleanupFinalizer);
    auto written = co_await client.update(std::move(definition));
    if (written || is_not_found(written)) co_return {};
    co_return std::move(written).error();
}

}  // namespace porthole::apiserver
