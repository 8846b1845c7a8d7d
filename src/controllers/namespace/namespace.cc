#include "controllers/namespace/namespace.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/meta_v1.h"
#include "base/result.h"
#include "base/strings.h"
#include "base/time/bounded_seconds.h"
#include "objects/conditions.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using api::core::v1::Namespace;
using api::core::v1::NamespaceCondition;
using api::core::v1::NamespaceStatus;
using client::NamespacedName;
using client::Requeue;

namespace {

constexpr Duration SettleTime = std::chrono::milliseconds(500);
constexpr std::chrono::seconds FinalizerEstimate(15);
constexpr const char* Finalizer = "kubernetes";

bool is_pods(const client::DiscoveredResource& resource) { return resource.group.empty() && resource.plural == "pods"; }

bool set_condition(NamespaceStatus& status, const char* type, bool holds, const char* reason, std::string message, SystemTime now) {
    return objects::set_condition(status.conditions,
                                  {.type = type, .status = holds ? "True" : "False", .reason = reason, .message = std::move(message)},
                                  Timestamp(now));
}

std::string joined(const std::map<std::string, int>& counts, const char* format) {
    return join(counts, ", ", [&](const auto& item) { return fmt::format(fmt::runtime(format), item.first, item.second); });
}

/// Counts what a list reply holds, and what holds it.
Result<void> count_items(const client::DiscoveredResource& resource, std::string_view list, NamespaceRemains& remains) {
    TRY(const client::ListSlices slices, client::slice_list(list));
    if (!slices.items.empty()) remains.objects[resource.plural + "." + resource.group] += static_cast<int>(slices.items.size());
    for (const std::string_view item : slices.items) {
        TRY(const std::string_view text, client::json_member(item, "metadata"));
        TRY(const auto metadata, schema::decode_json<api::meta::v1::ObjectMeta>(text));
        for (const std::string& finalizer : metadata.finalizers) ++remains.finalizers[finalizer];
        if (!metadata.finalizers.empty()) remains.longest_grace = std::max(remains.longest_grace, FinalizerEstimate);
        remains.longest_grace = std::max(remains.longest_grace, bounded_seconds(metadata.deletion_grace_period_seconds.value_or(0)));
    }
    return {};
}

}  // namespace

bool set_deletion_conditions(NamespaceStatus& status, const client::Discovery& discovery, const NamespaceRemains& remains, SystemTime now) {
    bool changed = false;
    const std::string undiscovered =
        fmt::format("Discovery failed for some groups, {} failing: {}", discovery.failures.size(), join(discovery.failures, ", "));
    changed |= discovery.failures.empty()
                   ? set_condition(status, "NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
                                   "All resources successfully discovered", now)
                   : set_condition(status, "NamespaceDeletionDiscoveryFailure", true, "DiscoveryFailed", undiscovered, now);
    changed |= set_condition(status, "NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
                             "All legacy kube types successfully parsed", now);
    changed |= remains.failures.empty() ? set_condition(status, "NamespaceDeletionContentFailure", false, "ContentDeleted",
                                                        "All content successfully deleted, may be waiting on finalization", now)
                                        : set_condition(status, "NamespaceDeletionContentFailure", true, "ContentDeletionFailed",
                                                        fmt::format("Failed to delete all resource types, {} remaining: {}",
                                                                    remains.failures.size(), join(remains.failures, ", ")),
                                                        now);
    changed |= remains.objects.empty()
                   ? set_condition(status, "NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed", now)
                   : set_condition(status, "NamespaceContentRemaining", true, "SomeResourcesRemain",
                                   "Some resources are remaining: " + joined(remains.objects, "{} has {} resource instances"), now);
    changed |= remains.finalizers.empty() ? set_condition(status, "NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
                                                          "All content-preserving finalizers finished", now)
                                          : set_condition(status, "NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
                                                          "Some content in the namespace has finalizers remaining: " +
                                                              joined(remains.finalizers, "{} in {} resource instances"),
                                                          now);
    return changed;
}

NamespaceController::NamespaceController(Context& context)
    : Controller(context.loop, context.log, {.name = "namespace-controller", .workers = 10}),
      client_(context.client),
      namespaces_(context.informers.get<Namespace>()) {
    const auto queue_if_deleting = [this](const Namespace& space) {
        if (space.metadata.deletion_timestamp) queue().add_after(client::key_of(space), SettleTime);
    };
    depends_on(namespaces_)
        .subscribe({.added = [=](const auto& space) { queue_if_deleting(*space); },
                    .updated = [=](const auto&, const auto& space) { queue_if_deleting(*space); },
                    .deleted = {}});
}

Task<Requeue> NamespaceController::reconcile(NamespacedName key) {
    const auto cached = namespaces_.find(key);
    const auto waits_for_us = [](const Namespace& space) {
        return space.metadata.deletion_timestamp && std::ranges::find(space.spec.finalizers, Finalizer) != space.spec.finalizers.end();
    };
    if (!cached || !waits_for_us(*cached)) co_return Requeue::never();
    Namespace space = *cached;
    CO_TRY_VOID(co_await mark_terminating(space));
    CO_TRY(const client::Discovery discovery, co_await client::discover(client_));
    CO_TRY(const NamespaceRemains remains, co_await delete_content(key.name, discovery));
    CO_TRY_VOID(co_await report(space, discovery, remains));
    if (!remains.failures.empty())
        co_return Error(Reason::InternalError, "deleting content of namespace " + key.name + ": " + remains.failures.front());
    if (!discovery.failures.empty()) co_return Error(Reason::ServiceUnavailable, "discovery failed for " + discovery.failures.front());
    if (!remains.empty()) {
        if (remains.objects.contains("pods.")) co_return Requeue::in(std::chrono::seconds(1));
        co_return Requeue::in(remains.longest_grace / 2 + std::chrono::seconds(1));
    }
    CO_TRY_VOID(co_await finalize(std::move(space)));
    co_return Requeue::never();
}

Task<> NamespaceController::mark_terminating(Namespace& space) {
    if (space.status.phase == "Terminating") co_return {};
    space.status.phase = "Terminating";
    CO_TRY(space, co_await client_.update_status(space));
    co_return {};
}

/// Pods go first and alone, so that nothing they need (secrets, service accounts, network policies) vanishes under them (KEP-5080).
Task<NamespaceRemains> NamespaceController::delete_content(std::string name, const client::Discovery& discovery) {
    NamespaceRemains remains;
    for (const bool pods : {true, false}) {
        for (const auto& resource : discovery.resources) {
            if (!resource->namespaced || !resource->has_verb("delete") || is_pods(*resource) != pods) continue;
            Result<void> deleted = co_await delete_resource(name, resource, remains);
            if (deleted) continue;
            if (is_cancelled(deleted)) co_return std::move(deleted).error();
            remains.failures.push_back(resource->name() + ": " + deleted.error().message);
        }
        if (!remains.empty()) break;
    }
    co_return std::move(remains);
}

Task<> NamespaceController::delete_resource(std::string name, client::DiscoveredResourcePtr resource, NamespaceRemains& remains) {
    if (!resource->has_verb("list")) co_return {};
    const std::string collection = client::Client::collection_path(resource->table, name);
    CO_TRY(net::Bytes list, co_await client_.get_raw(collection, "", client::MetadataList));
    CO_TRY(const client::ListSlices slices, client::slice_list(*list));
    if (slices.items.empty()) co_return {};
    bool collectively = resource->has_verb("deletecollection");
    if (collectively) {
        Result<void> removed = co_await client_.remove_raw(collection, {.propagation_policy = "Background"});
        if (!removed && removed.error().reason == Reason::MethodNotAllowed)
            collectively = false;
        else if (!removed && !is_not_found(removed))
            co_return removed;
    }
    if (!collectively) {
        for (const std::string_view item : slices.items) {
            CO_TRY(const std::string_view text, client::json_member(item, "metadata"));
            CO_TRY(const auto metadata, schema::decode_json<api::meta::v1::ObjectMeta>(text));
            CO_TRY_VOID(
                ignore_not_found(co_await client_.remove_raw(collection + "/" + metadata.name, {.propagation_policy = "Background"})));
        }
    }
    CO_TRY(list, co_await client_.get_raw(collection, "", client::MetadataList));
    co_return count_items(*resource, *list, remains);
}

Task<> NamespaceController::report(Namespace& space, const client::Discovery& discovery, const NamespaceRemains& remains) {
    if (!set_deletion_conditions(space.status, discovery, remains, loop().wall_now())) co_return {};
    Result<Namespace> written = co_await client_.update_status(space);
    if (!written) co_return std::move(written).error();
    space = std::move(*written);
    co_return {};
}

Task<> NamespaceController::finalize(Namespace space) {
    std::erase(space.spec.finalizers, Finalizer);
    const std::string path = client::Client::path(Namespace::kind(), client::key_of(space), "finalize");
    CO_TRY_VOID(ignore_not_found(co_await client_.put_raw(path, schema::encode_json(space))));
    co_return {};
}

Result<ControllerPtr> make_namespace(Context& context) { return make_controller<NamespaceController>(context); }

}  // namespace porthole::controllers
