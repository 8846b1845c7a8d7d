#include "controllers/resource_claim/resource_claim_cleaner.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/resource_claim/claim_names.h"
#include "objects/owners.h"

namespace porthole::controllers {
namespace {

using client::Requeue;

/// The scheduler puts it on a claim to which it gives devices.
const std::string Finalizer = "resource.kubernetes.io/delete-protection";

}  // namespace

ResourceClaimCleaner::ResourceClaimCleaner(Context& context)
    : Controller(context.loop, context.log, {.name = "resource-claim-cleaner", .workers = 10}),
      client_(context.client),
      pods_(context.informers.get<api::core::v1::Pod>()),
      claims_(context.informers.get<Claim>()) {
    reconcile_each(claims_);
    depends_on(pods_).on_change([this](const api::core::v1::Pod& pod) {
        for (const std::string& name : resource_claim_names(pod)) queue().add({pod.metadata.namespace_, name});
    });
}

Task<Requeue> ResourceClaimCleaner::reconcile(client::NamespacedName key) {
    const auto claim = claims_.find(key);
    if (!claim) co_return Requeue::never();
    std::vector<Consumer> left;
    for (const Consumer& consumer : claim->status.reserved_for) {
        CO_TRY(const bool wanted, co_await is_still_wanted(key.namespace_, consumer));
        if (wanted) left.push_back(consumer);
    }
    const bool unused = left.empty();
    const bool is_protected = objects::has_finalizer(claim->metadata, Finalizer);
    if (left.size() < claim->status.reserved_for.size() || (is_protected && claim->metadata.deletion_timestamp && unused))
        CO_TRY_VOID(co_await release(*claim, std::move(left)));
    if (unused) CO_TRY_VOID(co_await remove_if_unused(claim));
    co_return Requeue::never();
}

/// Whoever is not a pod is for others to take off.
Task<bool> ResourceClaimCleaner::is_still_wanted(std::string namespace_, Consumer consumer) {
    if (!consumer.api_group.empty() || consumer.resource != "pods") co_return true;
    const client::NamespacedName key{std::move(namespace_), consumer.name};
    if (const auto pod = pods_.find(key)) co_return pod->metadata.uid == consumer.uid && !is_pod_over(*pod);
    // The scheduler may have seen a pod that this cache has not.
    const auto pod = co_await client_.get<api::core::v1::Pod>(key);
    if (!pod && !is_not_found(pod)) co_return pod.error();
    co_return pod && pod->metadata.uid == consumer.uid;
}

Task<> ResourceClaimCleaner::release(Claim claim, std::vector<Consumer> left) {
    const bool is_protected = objects::has_finalizer(claim.metadata, Finalizer);
    const bool frees = left.empty() && is_protected;
    if (left.size() < claim.status.reserved_for.size() || (frees && claim.status.allocation)) {
        claim.status.reserved_for = std::move(left);
        if (frees) {
            claim.status.allocation.reset();
            claim.status.devices.clear();
        }
        auto updated = co_await client_.update_status(std::move(claim));
        if (!updated) {
            if (is_not_found(updated)) co_return {};
            co_return std::move(updated).error();
        }
        claim = *std::move(updated);
    }
    if (!frees || claim.status.allocation) co_return {};
    std::erase(claim.metadata.finalizers, Finalizer);
    const auto updated = co_await client_.update(std::move(claim));
    if (!updated && !is_not_found(updated)) co_return updated.error();
    co_return {};
}

Task<> ResourceClaimCleaner::remove_if_unused(std::shared_ptr<const Claim> claim) {
    const auto* owner = objects::find_controller(claim->metadata);
    if (!owner || owner->kind != "Pod" || claim->metadata.deletion_timestamp) co_return {};
    // A pod that is not here is not seen yet, or gone: that is for the garbage collector.
    const auto pod = pods_.find({claim->metadata.namespace_, owner->name});
    if (!pod || (pod->metadata.uid == owner->uid && !is_pod_over(*pod))) co_return {};
    const auto removed = co_await client_.remove<Claim>(client::key_of(*claim), {.uid = claim->metadata.uid});
    if (!removed && !is_not_found(removed) && removed.error().reason != Reason::Conflict) co_return removed;
    co_return {};
}

Result<ControllerPtr> make_resource_claim_cleaner(Context& context) { return make_controller<ResourceClaimCleaner>(context); }

}  // namespace porthole::controllers
