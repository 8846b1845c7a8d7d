#include "apiserver/request/status.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/version_converter.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/fields/fields.h"
#include "schema/patch/track_update_text.h"

namespace porthole::apiserver {
namespace {

constexpr int UpdateRetries = 5;
constexpr int VersionRounds = 32;  ///< more than a definition has versions whose fields somebody owns

/// The object goes for good once nothing keeps it any more.
bool completes_deletion(const Strategy& strategy, const ApiObject& object, const ApiObject& old) {
    const ObjectMeta& metadata = object.metadata();
    const auto grace = old.metadata().deletion_grace_period_seconds;
    return metadata.deletion_timestamp && metadata.finalizers.empty() && grace && *grace == 0 &&
           !(strategy.delays_removal && strategy.delays_removal(object));
}

/// Subresources through which status alone is written; a decision on a certificate request is part of its status.
bool writes_status(std::string_view subresource) { return subresource == "status" || subresource == "approval"; }

bool changed_outside_metadata(const ApiObject& object, const ApiObject& old) {
    schema::Value now = object.bare_tree(), before = old.bare_tree();
    // Without a subresource for it, the status is a part of the object like any other.
    const bool has_status = object.is_built_in() || object.kind().is(schema::Kind::HasStatus);
    for (const std::string_view field : {"metadata", "status"}) {
        if (field == "status" && !has_status) continue;
        now.erase(field);
        before.erase(field);
    }
    return !(now == before);
}

bool counts_up(Generation generation, const ApiObject& object, const ApiObject& old) {
    switch (generation) {
        case Generation::None:
        case Generation::Constant:
            return false;
        case Generation::OnSpecChange:
            return !object.same_field("spec", old);
        case Generation::OnSpecOrAnnotationChange:
            return !object.same_field("spec", old) || object.metadata().annotations != old.metadata().annotations;
        case Generation::OnChangeOutsideMetadata:
            return changed_outside_metadata(object, old);
    }
    return false;
}

/// For an object that is as it was stored but for some fields.
bool has_stored_metadata(const ApiObject& object, const ApiObject& old) {
    if (object.managed_fields_text().empty() || object.managed_fields_text() != old.managed_fields_text()) return false;
    const schema::Value& metadata = schema::at(object.bare_tree(), "metadata");
    return metadata == schema::at(old.bare_tree(), "metadata") && !metadata.find("selfLink");
}

/// What no client may change, taken over from what is stored.
void keep_system_metadata(ApiObject& object, const ApiObject& old) {
    if (has_stored_metadata(object, old)) return;
    const ObjectMeta& before = old.metadata();
    object.edit_metadata([&](ObjectMeta& metadata) {
        if (metadata.uid.empty()) metadata.uid = before.uid;
        metadata.creation_timestamp = before.creation_timestamp;
        metadata.deletion_timestamp = before.deletion_timestamp;
        metadata.deletion_grace_period_seconds = before.deletion_grace_period_seconds;
        metadata.generation = before.generation;
        metadata.self_link.clear();
        metadata.generate_name = before.generate_name;
        metadata.resource_version = before.resource_version;
    });
}

bool is_heartbeat(const WriteRequest& request) {
    const std::string_view heartbeats = request.resource.strategy->heartbeat_namespace;
    return !heartbeats.empty() && request.namespace_ == heartbeats;
}

/// Brings managedFields up to date, as text where they are as stored: then most of them stay unread.
void track_update_here(const schema::Kind& kind, const ApiObject& old, ApiObject& object, const schema::FieldManager& manager) {
    const std::string& known = old.managed_fields_text();
    if (!known.empty() && object.managed_fields_text() == known) {
        auto updated = schema::track_update_text(kind, old.bare_tree(), object.bare_tree(), known, manager);
        if (updated) return object.set_managed_fields_text(*std::move(updated));
    }
    schema::track_update(kind, old.tree(), object.edit_tree(), manager);
}

}  // namespace

Error definition_changed() { return Error(Reason::ServiceUnavailable, "the definition of the resource has changed; try again"); }

/// What a write is refused or changed by must not be older than what its sender has seen of another server: not the object, nor its
/// namespace, nor what admission looks at. Components that follow the store are used to be behind.
Task<> ResourceStore::catch_up_for(const WriteRequest& request) {
    if (!seams_.shared || request.fence) co_return {};
    co_return co_await catch_up();
}

Task<store::Committed> ResourceStore::commit(const WriteRequest& request, store::Transaction transaction) {
    return request.fence ? request.fence->commit(seams_.store, std::move(transaction)) : seams_.store.commit(std::move(transaction));
}

void ResourceStore::prepare_update(const WriteRequest& request, ApiObject& object, const ApiObject& old) {
    const Strategy& strategy = *request.resource.strategy;
    const WriteContext context = write_context(request);
    if (const auto special = strategy.subresources.find(request.subresource); special != strategy.subresources.end()) {
        special->second.prepare(object, old, context);
        keep_system_metadata(object, old);
        if (special->second.keeps_generation) return;
    } else if (writes_status(request.subresource) || request.subresource == "finalize") {
        // Everything but the one part and metadata is what is stored.
        ApiObject merged(old);
        merged.copy_field(request.subresource == "finalize" ? "spec" : "status", object);
        merged.copy_field("metadata", object);
        object = std::move(merged);
        keep_system_metadata(object, old);
        if (writes_status(request.subresource) && strategy.prepare_for_status_update)
            strategy.prepare_for_status_update(object, old, context);
        return;
    } else {
        if (request.resource.stored->is(schema::Kind::HasStatus)) object.copy_field("status", old);
        keep_system_metadata(object, old);
        if (strategy.prepare_for_update) strategy.prepare_for_update(object, old, context);
    }
    if (counts_up(strategy.generation, object, old)) object.edit_metadata([](ObjectMeta& metadata) { ++metadata.generation; });
}

void ResourceStore::validate_update(const WriteRequest& request, const ApiObject& object, const ApiObject& old, FieldErrors& errors) const {
    const Strategy& strategy = *request.resource.strategy;
    validate_metadata_update(object.metadata(), old.metadata(), *request.resource.stored, errors);
    if (const auto special = strategy.subresources.find(request.subresource); special != strategy.subresources.end()) {
        if (special->second.validate) special->second.validate(object, old, errors);
    } else if (writes_status(request.subresource)) {
        if (strategy.validate_status_update) strategy.validate_status_update(object, old, write_context(request), errors);
    } else if (strategy.validate_update) {
        strategy.validate_update(object, old, errors);
    } else if (strategy.validate) {
        strategy.validate(object, errors);
    } else {
        schema::validate_structure(object.tree(), *request.resource.stored, errors);
        schema::validate_immutable(old.tree(), object.tree(), *request.resource.stored, errors);
    }
}

Task<Written> ResourceStore::replace(WriteRequest request, ApiObject object, std::function<Task<>()> may_create) {
    CO_TRY_VOID(co_await catch_up_for(request));
    const Resource& resource = request.resource;
    const std::string wanted_version = object.metadata().resource_version;
    const bool exists = seams_.store.get(resource.key(request.namespace_, request.name)) != nullptr;
    if (!exists && resource.strategy->create_on_update && request.subresource.empty()) {
        CO_TRY_VOID(co_await may_create());
        if (!wanted_version.empty() && wanted_version != "0") co_return modified_meanwhile(*resource.kind, request.name);
        object.edit_metadata([](ObjectMeta& metadata) { metadata.resource_version.clear(); });
        co_return co_await create(std::move(request), std::move(object));
    }
    if (exists && wanted_version.empty() && !resource.strategy->unconditional_update) {
        FieldErrors errors;
        errors.invalid("metadata.resourceVersion", schema::Value(0), "must be specified for an update");
        co_return invalid(*resource.stored, request.name, errors);
    }
    co_return co_await mutate(std::move(request), [&object](const ApiObject&) -> Result<ApiObject> { return ApiObject(object); });
}

Task<Written> ResourceStore::mutate(WriteRequest request, Mutation mutation) {
    CO_TRY_VOID(co_await catch_up_for(request));
    const Resource& resource = request.resource;
    const std::string key = resource.key(request.namespace_, request.name);
    for (int attempt = 1;; ++attempt) {
        const store::RecordPtr current = seams_.store.get(key);
        if (!current) co_return not_found(*resource.kind, request.name);
        CO_TRY(const store::RecordPtr shown, co_await converted_record(resource, current));
        CO_TRY(ApiObject old, stored_object(resource, *shown));
        CO_TRY(ApiObject object, mutation(old));
        const std::string wanted_version = object.metadata().resource_version;
        const bool guarded = !wanted_version.empty() && wanted_version != "0";
        if (guarded && wanted_version != store::to_string(current->modified)) co_return modified_meanwhile(*resource.kind, request.name);
        if (const std::string& uid = object.metadata().uid; !uid.empty() && uid != old.metadata().uid) {
            co_return conflict(*resource.kind, request.name,
                               "Precondition failed: UID in precondition: " + uid + ", UID in object meta: " + old.metadata().uid);
        }
        auto written = co_await write_over(request, current, std::move(old), std::move(object));
        const bool lost_race = !written && written.error().reason == Reason::Conflict && written.error().details->name.empty();
        if (!lost_race) co_return std::move(written);
        if (attempt == UpdateRetries) co_return modified_meanwhile(*resource.kind, request.name);
    }
}

Task<> ResourceStore::check_admission(const WriteRequest& request, store::RecordPtr current) {
    CO_TRY(const store::RecordPtr shown, co_await converted_record(request.resource, current));
    CO_TRY(const ApiObject old, stored_object(request.resource, *shown));
    ApiObject object(old);
    AdmissionAttributes attributes = admission_attributes(request, AdmissionOperation::Update);
    attributes.object = &object;
    attributes.old_object = &old;
    CO_TRY_VOID(co_await seams_.admission.admit(attributes));
    co_return co_await seams_.admission.validate(attributes);
}

/// Brings managedFields up to date, with what the change is in the versions of other owners.
Task<> ResourceStore::track_update(const WriteRequest& request, const ApiObject& old, ApiObject& object) {
    const schema::Kind& kind = *request.resource.stored;
    if (!request.resource.converter) {
        track_update_here(kind, old, object, *request.manager);
        co_return {};
    }
    ObjectVersions versions(request.resource);
    for (int round = 0; round < VersionRounds; ++round) {
        schema::Value updated = object.tree();
        schema::track_update(kind, old.tree(), updated, *request.manager, &versions);
        if (!versions.lacks_some()) {
            object.edit_tree() = std::move(updated);
            co_return {};
        }
        auto learned = co_await versions.learn();
        if (is_cancelled(learned)) co_return learned;
        if (!learned) break;
    }
    // As upstream, a webhook that fails now ends no update: the owners stay as the names of fields tell.
    schema::track_update(kind, old.tree(), object.edit_tree(), *request.manager);
    co_return {};
}

Task<> ResourceStore::admit_update(const WriteRequest& request, ApiObject& object, const ApiObject& old) {
    const Resource& resource = request.resource;
    const Strategy& strategy = *resource.strategy;
    const auto subresource = strategy.subresources.find(request.subresource);
    const bool keeps_defaults = subresource != strategy.subresources.end() && subresource->second.keeps_defaults;
    if (!keeps_defaults) set_defaults(resource, object);
    prepare_update(request, object, old);
    AdmissionAttributes attributes = admission_attributes(request, AdmissionOperation::Update);
    attributes.object = &object;
    attributes.old_object = &old;
    CO_TRY_VOID(co_await seams_.admission.admit(attributes));
    if (!keeps_defaults || attributes.reinvocation.changed) set_defaults(resource, object);
    // A webhook may have changed what the request itself could not: status, or what the subresource leaves alone.
    if (attributes.reinvocation.changed) prepare_update(request, object, old);

    FieldErrors errors;
    validate_update(request, object, old, errors);
    request.warnings.insert(request.warnings.end(), errors.warnings().begin(), errors.warnings().end());
    if (!errors.empty()) co_return invalid(*resource.stored, request.name, errors);
    if (strategy.warn && request.subresource.empty()) strategy.warn(object, &old, request.warnings);
    co_return co_await seams_.admission.validate(attributes);
}

Task<Written> ResourceStore::write_over(const WriteRequest& request, const store::RecordPtr& current, ApiObject old, ApiObject object) {
    const Resource& resource = request.resource;
    const Strategy& strategy = *resource.strategy;
    CO_TRY_VOID(co_await admit_update(request, object, old));
    // A webhook may have taken its time.
    if (resource.retired) co_return definition_changed();

    if (completes_deletion(strategy, object, old)) {
        if (request.dry_run) co_return Written{bytes_of(object.to_json())};
        CO_TRY(const store::RecordPtr shown, co_await converted_record(resource, current));
        CO_TRY(const Removed removed, co_await commit_removal(request, shown, std::move(object)));
        co_return Written{removed.bytes};
    }
    TransactionDraft draft;
    if (strategy.begin_write && request.subresource.empty()) {
        FieldErrors errors;
        CO_TRY_VOID(strategy.begin_write(&object, &old, draft, errors));
        if (!errors.empty()) co_return invalid(*resource.stored, request.name, errors);
    }
    if (request.manager) CO_TRY_VOID(co_await track_update(request, old, object));
    // What is on disk may have to change although the object does not: it was encrypted with another key.
    const bool changes = !draft.operations.empty() || !object.same_content(old) || seams_.store.is_stale(current->key) ||
                         is_in_old_version(resource, *current);
    if (!changes) {
        CO_TRY(const store::RecordPtr shown, co_await converted_record(resource, current));
        co_return Written{present_bytes(resource, *shown)};
    }
    if (request.dry_run) co_return Written{bytes_of(object.to_json())};

    CO_TRY(store::Transaction transaction,
           co_await transaction_of(request, std::move(draft), current->key, std::move(object), current.get()));
    // What an object that is being deleted is told, by its node and by those who set its finalizers, lets it go.
    transaction.frees = old.is_deleting();
    transaction.patient = is_heartbeat(request);
    CO_TRY(const store::Committed committed, co_await commit(request, std::move(transaction)));
    CO_TRY(const store::RecordPtr shown, co_await converted_record(resource, committed.events.back()->record));
    co_return Written{present_bytes(resource, *shown)};
}

}  // namespace porthole::apiserver
