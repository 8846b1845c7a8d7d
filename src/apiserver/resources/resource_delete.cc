#include <algorithm>
#include <span>

#include "apiserver/request/status.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/version_converter.h"
#include "base/result.h"
#include "base/time/bounded_seconds.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view OrphanFinalizer = "orphan";
constexpr std::string_view ForegroundFinalizer = "foregroundDeletion";
constexpr int DeleteRetries = 5;
constexpr std::size_t RemovedAtOnce = 16;  ///< of a collection: they share syncs of the disk

bool has(const std::vector<std::string>& finalizers, std::string_view one) {
    return std::ranges::find(finalizers, one) != finalizers.end();
}

/// The finalizers that the garbage collector answers for, as the request's policy (or the kind's) wants them.
std::vector<std::string> finalizers_for_policy(const Strategy& strategy, const ObjectMeta& metadata, const DeleteOptions& options) {
    bool orphan = false, foreground = false;
    if (options.orphan_dependents) {
        orphan = *options.orphan_dependents;
    } else if (!options.propagation_policy.empty()) {
        orphan = options.propagation_policy == "Orphan";
        foreground = options.propagation_policy == "Foreground";
    } else {
        const bool decided = has(metadata.finalizers, OrphanFinalizer) || has(metadata.finalizers, ForegroundFinalizer);
        if (decided) return metadata.finalizers;
        orphan = strategy.orphans_by_default;
    }
    std::vector<std::string> finalizers;
    for (const std::string& finalizer : metadata.finalizers)
        if (finalizer != OrphanFinalizer && finalizer != ForegroundFinalizer) finalizers.push_back(finalizer);
    if (orphan) finalizers.emplace_back(OrphanFinalizer);
    if (foreground) finalizers.emplace_back(ForegroundFinalizer);
    return finalizers;
}

Result<void> check_preconditions(const Resource& resource, const std::string& name, const ObjectMeta& metadata,
                                 const DeleteOptions& options) {
    if (options.uid && *options.uid != metadata.uid) {
        return conflict(*resource.kind, name,
                        "the UID in the precondition (" + *options.uid + ") does not match the UID in record (" + metadata.uid +
                            "). The object might have been deleted and then recreated");
    }
    if (options.resource_version && *options.resource_version != metadata.resource_version) {
        return conflict(*resource.kind, name,
                        "the ResourceVersion in the precondition (" + *options.resource_version +
                            ") does not match the ResourceVersion in record (" + metadata.resource_version +
                            "). The object might have been modified");
    }
    return {};
}

/// Sets when the object is to be gone. A second request may only bring that forward. False when it changes nothing.
bool set_deletion_time(ObjectMeta& metadata, std::int64_t grace, Timestamp now) {
    if (!metadata.deletion_timestamp) {
        metadata.deletion_timestamp = now + bounded_seconds(grace);
        metadata.deletion_grace_period_seconds = grace;
        if (metadata.generation > 0) ++metadata.generation;
        return true;
    }
    const std::int64_t before = metadata.deletion_grace_period_seconds.value_or(0);
    if (grace >= before) return false;
    // The time counts from the first request.
    Timestamp when = *metadata.deletion_timestamp + (bounded_seconds(grace) - bounded_seconds(before));
    if (when < now) {
        when = now;
        if (grace != 0) grace = 1;
    }
    metadata.deletion_timestamp = when;
    metadata.deletion_grace_period_seconds = grace;
    return true;
}

/// As upstream, the option is for nothing else.
Error readable_after_all(const Resource& resource, const std::string& name) {
    FieldErrors errors;
    errors.invalid("ignoreStoreReadErrorWithClusterBreakingPotential", schema::Value(true),
                   "is exclusively used to delete corrupt object(s), try again by removing this option");
    return invalid(*resource.kind, name, errors);
}

/// The removal of one record of the collection that `request` names.
WriteRequest removal_of(const WriteRequest& request, const store::Record& record) {
    WriteRequest one{request.resource, "", "", "", request.user, request.dry_run, request.warnings, request.audit_annotations};
    std::string_view rest = std::string_view(record.key).substr(request.resource.prefix.size());
    if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
        one.namespace_ = rest.substr(0, slash);
        rest.remove_prefix(slash + 1);
    }
    one.name = rest;
    one.without_admission = request.without_admission;
    one.fence = request.fence;
    return one;
}

}  // namespace

schema::Value delete_options_of(const DeleteOptions& options) {
    using schema::Value;
    Value value = Value::object({{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
    if (options.grace_period_seconds) value["gracePeriodSeconds"] = *options.grace_period_seconds;
    if (options.uid) value["preconditions"]["uid"] = *options.uid;
    if (options.resource_version) value["preconditions"]["resourceVersion"] = *options.resource_version;
    if (options.orphan_dependents) value["orphanDependents"] = *options.orphan_dependents;
    if (!options.propagation_policy.empty()) value["propagationPolicy"] = options.propagation_policy;
    if (options.dry_run) value["dryRun"] = Value::array({"All"});
    return value;
}

Task<Removed> ResourceStore::remove(WriteRequest request, DeleteOptions options) {
    CO_TRY_VOID(co_await catch_up_for(request));
    const std::string key = request.resource.key(request.namespace_, request.name);
    for (int attempt = 1;; ++attempt) {
        const store::RecordPtr current = seams_.store.get(key);
        if (!current) co_return not_found(*request.resource.kind, request.name);
        auto removed = co_await remove_once(request, current, options);
        const bool lost_race = !removed && removed.error().reason == Reason::Conflict && removed.error().details->name.empty();
        if (!lost_race) co_return std::move(removed);
        if (attempt == DeleteRetries) co_return modified_meanwhile(*request.resource.kind, request.name);
    }
}

Task<> ResourceStore::admit_deletion(const WriteRequest& request, AdmissionAttributes& attributes) {
    if (request.without_admission) co_return {};
    CO_TRY_VOID(co_await seams_.admission.admit(attributes));
    co_return co_await seams_.admission.validate(attributes);
}

Task<Removed> ResourceStore::remove_once(const WriteRequest& request, const store::RecordPtr& present, const DeleteOptions& options) {
    const Resource& resource = request.resource;
    const Strategy& strategy = *resource.strategy;
    auto converted = co_await converted_record(resource, present);
    // Whatever nobody can convert any more must not keep its definition for ever.
    const bool is_lost = !converted && request.without_admission && !is_cancelled(converted);
    if (!converted && !is_lost) co_return std::move(converted).error();
    const store::RecordPtr current = is_lost ? present : *converted;
    auto stored = stored_object(resource, *current);
    if (!stored) co_return co_await remove_unreadable(request, current, options, std::move(stored).error());
    if (options.ignore_store_read_error) co_return readable_after_all(resource, request.name);
    ApiObject object = std::move(*stored);
    CO_TRY_VOID(check_preconditions(resource, request.name, object.metadata(), options));
    AdmissionAttributes attributes = admission_attributes(request, AdmissionOperation::Delete);
    attributes.old_object = &object;
    attributes.options = delete_options_of(options);
    CO_TRY_VOID(co_await admit_deletion(request, attributes));

    const std::int64_t grace = strategy.grace_period ? strategy.grace_period(object, options.grace_period_seconds) : 0;
    const std::vector<std::string> finalizers = finalizers_for_policy(strategy, object.metadata(), options);
    const bool stays = grace > 0 || !finalizers.empty() || (strategy.delays_removal && strategy.delays_removal(object));
    Removed removed{.name = object.name(), .uid = object.metadata().uid};
    if (!stays) {
        removed.gone = true;
        removed.bytes = present_bytes(resource, *current);
        if (request.dry_run) co_return removed;
        co_return co_await commit_removal(request, current, std::move(object));
    }

    // To be stored in a version that it is not in, it would have to be converted.
    if (is_lost) co_return std::move(converted).error();
    bool changed = finalizers != object.metadata().finalizers;
    const bool begins = !object.is_deleting();
    object.edit_metadata([&](ObjectMeta& metadata) {
        metadata.finalizers = finalizers;
        changed = set_deletion_time(metadata, grace, Timestamp(seams_.clock.wall_now())) || changed;
    });
    if (begins && strategy.begin_deletion) strategy.begin_deletion(object);
    removed.bytes = present_bytes(resource, *current);
    if (!changed) co_return removed;
    if (request.dry_run) {
        removed.bytes = bytes_of(object.to_json());
        co_return removed;
    }
    store::Transaction transaction{.frees = true};
    transaction.guards.push_back(store::Guard::unchanged(current->key, current->modified));
    CO_TRY(ApiObject written, co_await converted_for_storage(resource, std::move(object)));
    store::Put put = put_of(resource, current->key, std::move(written));
    put.lease = current->lease;
    transaction.operations.push_back(std::move(put));
    CO_TRY(const store::Committed committed, co_await commit(request, std::move(transaction)));
    CO_TRY(const store::RecordPtr shown, co_await converted_record(resource, committed.events.back()->record));
    removed.bytes = present_bytes(resource, *shown);
    co_return removed;
}

Task<Removed> ResourceStore::remove_unreadable(const WriteRequest& request, const store::RecordPtr& current, const DeleteOptions& options,
                                               Error why) {
    // Nobody can say whether it is the object that is meant.
    if (options.uid || options.resource_version) co_return why;
    // Its key may come back.
    if (is_unreadable(current->value) && !options.ignore_store_read_error) co_return why;
    AdmissionAttributes attributes = admission_attributes(request, AdmissionOperation::Delete);
    CO_TRY_VOID(co_await admit_deletion(request, attributes));
    Removed removed{.gone = true, .bytes = current->value.bytes(), .name = request.name};
    if (is_unreadable(current->value)) {
        const schema::Value metadata = schema::Value::object({{"name", request.name}, {"namespace", request.namespace_}});
        removed.bytes = bytes_of(schema::to_json(schema::Value::object({{"metadata", metadata}})));
    }
    if (request.dry_run) co_return removed;
    store::Transaction transaction;
    transaction.guards.push_back(store::Guard::unchanged(current->key, current->modified));
    transaction.operations.push_back(store::Delete{current->key});
    CO_TRY_VOID(co_await commit(request, std::move(transaction)));
    co_return removed;
}

Task<Removed> ResourceStore::commit_removal(const WriteRequest& request, const store::RecordPtr& current, ApiObject object) {
    Removed removed{.gone = true, .name = object.name(), .uid = object.metadata().uid};
    TransactionDraft draft;
    if (request.resource.strategy->begin_write) {
        FieldErrors errors;
        CO_TRY_VOID(request.resource.strategy->begin_write(nullptr, &object, draft, errors));
    }
    store::Transaction transaction{.guards = std::move(draft.guards), .operations = std::move(draft.operations), .frees = true};
    transaction.guards.push_back(store::Guard::unchanged(current->key, current->modified));
    transaction.operations.push_back(store::Delete{current->key});
    CO_TRY(const store::Committed committed, co_await commit(request, std::move(transaction)));
    // It is gone: what a webhook would have to convert once more is told as it was.
    const store::EventPtr& event = committed.events.back();
    removed.bytes = present_bytes(request.resource, event && !request.resource.converter ? *event->record : *current);
    co_return removed;
}

/// Of a collection that is removed. The server itself needs neither a selection nor what the objects look like.
Task<std::vector<store::RecordPtr>> ResourceStore::selected(const WriteRequest& request, ListOptions selection, Pieces* pieces) {
    if (request.without_admission) {
        CO_TRY(store::Range all, seams_.store.range({.prefix = request.resource.prefix_of(request.namespace_)}));
        co_return std::move(all.records);
    }
    CO_TRY(Page page, co_await list(request.resource, request.namespace_, std::move(selection), pieces));
    co_return std::move(page.records);
}

Task<std::vector<Removed>> ResourceStore::remove_collection(WriteRequest request, DeleteOptions options, ListOptions selection,
                                                            Pieces* pieces) {
    CO_TRY(const std::vector<store::RecordPtr> records, co_await selected(request, std::move(selection), pieces));
    std::vector<Removed> all;
    for (auto left = std::span(records); !left.empty();) {
        const auto next = left.first(std::min(left.size(), RemovedAtOnce));
        left = left.subspan(next.size());
        std::vector<Task<Removed>> removals;
        for (const store::RecordPtr& record : next) removals.push_back(remove(removal_of(request, *record), options));
        CO_TRY(auto results, co_await when_all(std::move(removals)));
        for (auto& removed : results) {
            if (removed)
                all.push_back(std::move(*removed));
            else if (!is_not_found(removed))
                co_return std::move(removed).error();
        }
    }
    co_return all;
}

}  // namespace porthole::apiserver
