#include "scheduler/plugins/extended_claims.h"

#include "base/metrics_text.h"
#include "base/result.h"
#include "objects/owners.h"
#include "objects/resource_claims.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;
using schema::Value;

constexpr int MostRemovals = 5;
const std::string ProtectionFinalizer = "resource.kubernetes.io/delete-protection";

std::vector<std::string> owning_pod(const ResourceClaim& claim) {
    const auto* owner = objects::is_extended_claim(claim) ? objects::find_controller(claim.metadata) : nullptr;
    return owner && owner->kind == "Pod" ? std::vector{claim.metadata.namespace_ + "/" + owner->uid} : std::vector<std::string>();
}

}  // namespace

ExtendedClaims::ExtendedClaims(const Handle& handle, DeviceClaims& claims)
    : handle_(handle),
      claims_(claims),
      classes_(handle_.context.informers),
      pods_(handle_.context.informers.get<api::core::v1::Pod>()),
      by_pod_(handle_.context.informers.get<ResourceClaim>().add_index(owning_pod)) {}

std::map<std::string, std::string> ExtendedClaims::classes_for(const PodInfo& pod) const {
    std::map<std::string, std::string> classes;
    for (const auto& [resource, amount] : pod.requests.extended) {
        if (amount <= 0) continue;
        if (const auto found = classes_.find(resource)) classes[resource] = found->metadata.name;
    }
    return classes;
}

std::shared_ptr<const api::core::v1::Pod> ExtendedClaims::find_pod(const PodInfo& pod) const {
    auto found = pods_.find({pod.namespace_, pod.name});
    return found && found->metadata.uid == pod.uid ? found : nullptr;
}

ExtendedClaims::Claim ExtendedClaims::find(const PodInfo& pod) const {
    const auto claims = by_pod_.find(pod.namespace_ + "/" + pod.uid);
    return claims.empty() ? nullptr : claims.front();
}

ExtendedClaims::Claim ExtendedClaims::make(const PodInfo& pod, std::vector<DeviceRequest> requests) const {
    ResourceClaim claim;
    claim.metadata.namespace_ = pod.namespace_;
    claim.metadata.generate_name = pod.name + "-extended-resources-";
    claim.metadata.uid = handle_.context.random.uuid();  // until it is created
    claim.metadata.annotations["resource.kubernetes.io/extended-resource-claim"] = "true";
    claim.metadata.owner_references = {{.api_version = "v1", .kind = "Pod", .name = pod.name, .uid = pod.uid, .controller = true}};
    claim.spec.devices.requests = std::move(requests);
    return std::make_shared<const ResourceClaim>(std::move(claim));
}

void ExtendedClaims::reserve(const PodInfo& pod, Claim claim, Mappings mappings, AllocationResult allocation) {
    claims_.reserve(pod, *claim, std::move(allocation));
    created_.erase(pod.uid);
    reserved_[pod.uid] = {std::move(claim), std::move(mappings)};
}

void ExtendedClaims::unreserve(const PodInfo& pod) {
    reserved_.erase(pod.uid);  // its devices are free like those of any claim that was not written
    auto created = created_.extract(pod.uid);
    const Claim seen = created ? nullptr : find(pod);
    if (!created && !seen) return;
    DeviceClaims::ClaimId id = created ? std::move(created.mapped()) : DeviceClaims::ClaimId{client::key_of(*seen), seen->metadata.uid};
    handle_.scope.spawn(give_back({pod.namespace_, pod.name}, pod.uid, std::move(id)));
}

/// A binding that failed for us may have been done nevertheless: then the pod needs its claim.
Task<> ExtendedClaims::give_back(client::NamespacedName pod, std::string pod_uid, DeviceClaims::ClaimId claim) {
    const auto now = co_await handle_.context.client.get<api::core::v1::Pod>(pod);
    if (!now && !is_not_found(now)) co_return {};  // the next attempt finds the claim
    if (now && now->metadata.uid == pod_uid && !now->spec.node_name.empty()) co_return {};
    co_return co_await remove_now(std::move(claim));
}

Task<std::optional<DeviceClaims::ClaimId>> ExtendedClaims::bind(PodRef pod) {
    auto reserved = reserved_.extract(pod->uid);
    if (!reserved) co_return std::optional<DeviceClaims::ClaimId>();
    ResourceClaim claim = *reserved.mapped().claim;
    const std::string before = claim.metadata.uid;
    claim.metadata.uid.clear();
    auto created = co_await handle_.context.client.create(std::move(claim));
    ++(created ? creates_ : failed_creates_);
    if (!created) co_return std::move(created).error().with_context("create claim for extended resources " + pod->key());
    // Those that were bound long ago are found by the watch.
    std::erase_if(created_, [this](const auto& entry) { return claims_.find(entry.second.key) != nullptr; });
    DeviceClaims::ClaimId id{client::key_of(*created), created->metadata.uid};
    created_[pod->uid] = id;
    claims_.created(before, id.uid);
    CO_TRY_VOID(co_await claims_.bind(pod, id));
    CO_TRY_VOID(co_await name_in_status(pod, id.key.name, std::move(reserved.mapped().mappings)));
    co_return std::optional(std::move(id));
}

Task<> ExtendedClaims::name_in_status(PodRef pod, std::string claim, Mappings mappings) {
    Value list = Value::array();
    for (const auto& one : mappings)
        list.as_array().push_back(
            Value::object({{"containerName", one.container_name}, {"resourceName", one.resource_name}, {"requestName", one.request_name}}));
    Value named = Value::object({{"resourceClaimName", claim}, {"requestMappings", std::move(list)}});
    const Value patch = Value::object(
        {{"metadata", Value::object({{"uid", pod->uid}})}, {"status", Value::object({{"extendedResourceClaimStatus", std::move(named)}})}});
    auto patched = co_await handle_.context.client.patch<api::core::v1::Pod>(
        {pod->namespace_, pod->name}, client::PatchType::StrategicMerge, schema::to_json(patch), "status");
    if (!patched) co_return std::move(patched).error().with_context("update pod " + pod->key() + " ExtendedResourceClaimStatus");
    co_return {};
}

void ExtendedClaims::remove(DeviceClaims::ClaimId claim) { handle_.scope.spawn(remove_now(std::move(claim))); }

void ExtendedClaims::append_metrics(std::string& out) const {
    if (creates_ + failed_creates_ == 0) return;
    const MetricFamily creates(out, "scheduler_resourceclaim_creates_total", "counter",
                               "Requests to create ResourceClaims for extended resources, by outcome.");
    if (creates_ > 0) creates.add(metric_label("status", "success"), creates_);
    if (failed_creates_ > 0) creates.add(metric_label("status", "failure"), failed_creates_);
}

Task<> ExtendedClaims::remove_now(DeviceClaims::ClaimId id) {
    client::Client& client = handle_.context.client;
    for (int attempt = 1;; ++attempt) {
        auto removed = co_await [](client::Client& client, DeviceClaims::ClaimId id) -> Task<> {
            CO_TRY(ResourceClaim claim, co_await client.get<ResourceClaim>(id.key));
            if (claim.metadata.uid != id.uid) co_return Error(Reason::NotFound, "it has been replaced");
            if (std::erase(claim.metadata.finalizers, ProtectionFinalizer) > 0) CO_TRY_VOID(co_await client.update(std::move(claim)));
            co_return co_await client.remove<ResourceClaim>(id.key, {.uid = id.uid});
        }(client, id);
        if (is_cancelled(removed)) co_return removed;
        if (!removed && removed.error().reason == Reason::Conflict && attempt < MostRemovals) continue;
        if (removed || is_not_found(removed)) {
            claims_.deleted(id.uid);
        } else {
            handle_.context.log.warn("claim for extended resources not deleted",
                                     {{"claim", id.key.text()}, {"error", removed.error().message}});
        }
        co_return {};
    }
}

}  // namespace porthole::scheduler
