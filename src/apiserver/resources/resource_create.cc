#include "api/core_v1.h"
#include "apiserver/request/status.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/version_converter.h"
#include "apiserver/storage/keys.h"
#include "apiserver/strategy/object_meta.h"
#include "apiserver/validation/name_generation.h"
#include "base/result.h"
#include "schema/patch/track_update_text.h"

namespace porthole::apiserver {
namespace {

store::Guard namespace_guard(const std::string& namespace_) {
    return store::Guard::present(object_key(api::core::v1::Namespace::kind(), "", namespace_));
}

Error missing_namespace(const std::string& namespace_) {
    Error error(Reason::NotFound, "namespaces \"" + namespace_ + "\" not found");
    error.details->kind = "namespaces";
    error.details->name = namespace_;
    return error;
}

/// The options of a write as webhooks are told of them. Those of a patch are those of what it does, as upstream.
schema::Value options_of(const WriteRequest& request, AdmissionOperation operation) {
    if (operation == AdmissionOperation::Delete) return delete_options_of(DeleteOptions{.dry_run = request.dry_run});
    schema::Value options = schema::Value::object(
        {{"kind", operation == AdmissionOperation::Create ? "CreateOptions" : "UpdateOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
    if (request.dry_run) options["dryRun"] = schema::Value::array({"All"});
    if (request.manager) options["fieldManager"] = request.manager->name;
    return options;
}

/// Makes the managedFields of a new object, as text unless the request brings some: then nobody reads them before they are written. Of a
/// struct they are made without its tree.
void track_create(const Resource& resource, ApiObject& object, const schema::FieldManager& manager) {
    if (object.has_managed_fields() || resource.form != 0)
        return schema::track_update(*resource.stored, schema::null_value(), object.edit_tree(), manager);
    const schema::Instance* structure = object.bare_structure();
    object.set_managed_fields_text(structure ? schema::track_create_text(*resource.stored, *structure, manager)
                                             : schema::track_create_text(*resource.stored, object.edit_bare_tree(), manager));
}

/// A webhook may change the name of what is created, but not put it where the request has no rights.
Result<void> check_namespace(const WriteRequest& request, const ApiObject& object) {
    if (object.namespace_() == request.namespace_) return {};
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
}

}  // namespace

void ResourceStore::set_defaults(const Resource& resource, ApiObject& object) {
    object.apply_table_defaults();
    if (resource.strategy->set_defaults) resource.strategy->set_defaults(object);
}

WriteContext ResourceStore::write_context(const WriteRequest& request) const {
    return {
        .user = request.user, .now = Timestamp(seams_.clock.wall_now()), .dry_run = request.dry_run, .subresource = request.subresource};
}

AdmissionAttributes ResourceStore::admission_attributes(const WriteRequest& request, AdmissionOperation operation) const {
    return {.operation = operation,
            .kind = *request.resource.stored,
            .subresource = request.subresource,
            .namespace_ = request.namespace_,
            .name = request.name,
            .user = request.user,
            .dry_run = request.dry_run,
            .warnings = request.warnings,
            .audit_annotations = request.audit_annotations,
            .request_kind = request.resource.kind,
            .options = options_of(request, operation)};
}

void ResourceStore::prepare_create(const WriteRequest& request, ApiObject& object) {
    const Strategy& strategy = *request.resource.strategy;
    object.edit_metadata([&](ObjectMeta& metadata) {
        if (metadata.name.empty() && !metadata.generate_name.empty()) metadata.name = generated_name(metadata.generate_name, seams_.random);
        metadata.uid = seams_.random.uuid();
        metadata.creation_timestamp = Timestamp(seams_.clock.wall_now());
        metadata.deletion_timestamp.reset();
        metadata.deletion_grace_period_seconds.reset();
        metadata.self_link.clear();
        metadata.generation = strategy.generation == Generation::None ? 0 : 1;
    });
    if (strategy.prepare_for_create) strategy.prepare_for_create(object, write_context(request));
}

Task<> ResourceStore::admit_create(WriteRequest& request, ApiObject& object) {
    const Resource& resource = request.resource;
    const Strategy& strategy = *resource.strategy;
    set_defaults(resource, object);
    AdmissionAttributes attributes = admission_attributes(request, AdmissionOperation::Create);
    attributes.object = &object;
    CO_TRY_VOID(co_await seams_.admission.admit(attributes));
    if (attributes.reinvocation.changed) CO_TRY_VOID(check_namespace(request, object));
    // Names are generated only now: admission may still change what they are made of.
    prepare_create(request, object);
    request.name = object.name();
    if (attributes.name.empty()) attributes.name = request.name;
    set_defaults(resource, object);

    FieldErrors errors;
    validate_metadata(object.metadata(), *resource.stored, strategy, errors);
    if (strategy.validate)
        strategy.validate(object, errors);
    else
        schema::validate_structure(object.tree(), *resource.stored, errors);
    request.warnings.insert(request.warnings.end(), errors.warnings().begin(), errors.warnings().end());
    if (!errors.empty()) co_return invalid(*resource.stored, request.name, errors);
    if (strategy.warn) strategy.warn(object, nullptr, request.warnings);
    co_return co_await seams_.admission.validate(attributes);
}

Task<store::Transaction> ResourceStore::transaction_of(const WriteRequest& request, TransactionDraft draft, const std::string& key,
                                                       ApiObject object, const store::Record* current) {
    const Resource& resource = request.resource;
    store::Transaction transaction{.guards = std::move(draft.guards), .operations = std::move(draft.operations)};
    transaction.guards.push_back(current ? store::Guard::unchanged(key, current->modified) : store::Guard::absent(key));
    CO_TRY(ApiObject written, co_await converted_for_storage(resource, std::move(object)));
    if (resource.retired) co_return definition_changed();
    CO_TRY(store::Put put, limited_put_of(resource, key, std::move(written), current));
    if (current) put.lease = current->lease;
    // As with Kubernetes, an event that occurs again lives on from then.
    if (resource.strategy->time_to_live > Duration::zero()) {
        CO_TRY(put.lease, co_await seams_.store.shared_lease(resource.strategy->time_to_live));
    }
    transaction.operations.push_back(std::move(put));
    co_return transaction;
}

Task<Written> ResourceStore::create(WriteRequest request, ApiObject object) {
    CO_TRY_VOID(co_await catch_up_for(request));
    request.name = object.name();
    const Resource& resource = request.resource;
    const Strategy& strategy = *resource.strategy;
    if (resource.stored->is(schema::Kind::HasStatus) && !strategy.keeps_created_status) object.clear_field("status");
    CO_TRY_VOID(co_await admit_create(request, object));
    // It is the store that refuses this, after everybody else, and a dry run does not come that far.
    if (!request.dry_run && !object.metadata().resource_version.empty())
        co_return bad_request("resourceVersion should not be set on objects to be created");
    // A webhook may have taken its time.
    if (resource.retired) co_return definition_changed();

    const std::string key = resource.key(request.namespace_, request.name);
    while (true) {
        if (seams_.store.get(key)) co_return already_exists(*resource.kind, request.name);
        TransactionDraft draft;
        if (strategy.begin_write) {
            FieldErrors errors;
            ApiObject prepared(object);  // NOLINT(bugprone-use-after-move): what is prepared is never moved
            CO_TRY_VOID(strategy.begin_write(&prepared, nullptr, draft, errors));
            if (!errors.empty()) co_return invalid(*resource.stored, request.name, errors);
            object = std::move(prepared);
        }
        if (request.manager) track_create(resource, object, *request.manager);
        if (request.dry_run) co_return Written{bytes_of(object.to_json()), true};

        CO_TRY(store::Transaction transaction,
               co_await transaction_of(request, std::move(draft), key, strategy.begin_write ? object : std::move(object), nullptr));
        if (resource.kind->namespaced()) transaction.guards.push_back(namespace_guard(request.namespace_));
        auto committed = co_await commit(request, std::move(transaction));
        if (committed) {
            CO_TRY(const store::RecordPtr shown, co_await converted_record(resource, committed->events.back()->record));
            co_return Written{present_bytes(resource, *shown), true};
        }
        // A guard of the object itself, or of what goes with it. Where the outcome is unknown, an object that is there may be this one.
        const bool lost_race = committed.error().reason == Reason::AlreadyExists || committed.error().reason == Reason::Conflict;
        const bool was_refused = lost_race || is_not_found(committed);
        if (was_refused && seams_.store.get(key)) co_return already_exists(*resource.kind, request.name);
        if (is_not_found(committed) && resource.kind->namespaced()) co_return missing_namespace(request.namespace_);
        if (!lost_race || !strategy.begin_write) co_return std::move(committed).error();
    }
}

}  // namespace porthole::apiserver
