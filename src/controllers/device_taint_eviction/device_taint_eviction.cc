#include "controllers/device_taint_eviction/device_taint_eviction.h"

#include <algorithm>
#include <set>

#include "base/result.h"
#include "controllers/framework/pod_disruption.h"
#include "objects/devices/device_taints.h"
#include "objects/pods.h"
#include "objects/resource_claims.h"

namespace porthole::controllers {
namespace {

using namespace api::resource::v1;
using client::Requeue;

constexpr const char* NoExecute = "NoExecute";
constexpr const char* EventReason = "DeviceTaintManagerEviction";
/// Longer than anybody waits, and still a Duration when added to a time.
constexpr std::int64_t MostSeconds = 100LL * 365 * 24 * 3600;

std::string pool_key(const std::string& driver, const std::string& pool) { return driver + "/" + pool; }

std::vector<std::string> pools_of(const ResourceClaim& claim) {
    std::vector<std::string> pools;
    if (claim.status.allocation)
        for (const DeviceRequestAllocationResult& one : claim.status.allocation->devices.results)
            pools.push_back(pool_key(one.driver, one.pool));
    std::ranges::sort(pools);
    pools.erase(std::ranges::unique(pools).begin(), pools.end());
    return pools;
}

/// How long the taint is tolerated: the shortest of the tolerations' times, zero without any; nullopt for ever.
std::optional<Duration> tolerated_for(const DeviceTaint& taint, const std::vector<DeviceToleration>& tolerations) {
    std::optional<Duration> shortest;
    for (const DeviceToleration& toleration : tolerations) {
        if (toleration.effect != NoExecute || !objects::tolerates(toleration, taint)) continue;
        if (!toleration.toleration_seconds) return std::nullopt;
        const Duration time = std::chrono::seconds(std::clamp<std::int64_t>(*toleration.toleration_seconds, 0, MostSeconds));
        shortest = std::min(shortest.value_or(time), time);
    }
    return shortest.value_or(Duration::zero());
}

std::optional<SystemTime> earlier(std::optional<SystemTime> one, std::optional<SystemTime> other) {
    return one && other ? std::min(one, other) : one ? one : other;
}

}  // namespace

DeviceTaintEvictionController::DeviceTaintEvictionController(Context& context)
    : Controller(context.loop, context.log, {.name = "device-taint-eviction", .workers = 8}),
      client_(context.client),
      events_(context.events.get("device-taint-eviction")),
      pods_(depends_on(context.informers.get<Pod>())),
      claims_(depends_on(context.informers.get<Claim>())),
      slices_(depends_on(context.informers.get<Slice>())),
      claims_by_pool_(claims_.add_index(pools_of)),
      slices_by_pool_(
          slices_.add_index([](const Slice& slice) { return std::vector{pool_key(slice.spec.driver, slice.spec.pool.name)}; })) {
    pods_.on_change([this](const Pod& pod) {
        if (!pod.spec.resource_claims.empty()) queue().add(client::key_of(pod));
    });
    claims_.on_change([this](const Claim& claim) { look_at_pods_of(claim); });
    slices_.on_change([this](const Slice& slice) { look_at_pods_of(slice); });
}

void DeviceTaintEvictionController::look_at_pods_of(const Claim& claim) {
    for (const ResourceClaimConsumerReference& user : claim.status.reserved_for)
        if (user.resource == "pods") queue().add({claim.metadata.namespace_, user.name});
}

void DeviceTaintEvictionController::look_at_pods_of(const Slice& slice) {
    for (const auto& claim : claims_by_pool_.find(pool_key(slice.spec.driver, slice.spec.pool.name))) look_at_pods_of(*claim);
}

const Device* DeviceTaintEvictionController::find_device(const DeviceRequestAllocationResult& allocated) const {
    const Device* found = nullptr;
    std::int64_t newest = INT64_MIN;
    for (const auto& slice : slices_by_pool_.find(pool_key(allocated.driver, allocated.pool))) {
        const std::int64_t generation = slice->spec.pool.generation;
        if (generation < newest) continue;
        if (generation > newest) found = nullptr;
        newest = generation;
        const auto device = std::ranges::find(slice->spec.devices, allocated.device, &Device::name);
        if (device != slice->spec.devices.end()) found = &*device;
    }
    return found;
}

std::optional<SystemTime> DeviceTaintEvictionController::time_to_evict(const DeviceRequestAllocationResult& allocated) const {
    const Device* device = find_device(allocated);
    if (!device) return std::nullopt;
    std::optional<SystemTime> first;
    for (const DeviceTaint& taint : device->taints) {
        if (taint.effect != NoExecute) continue;
        const auto time = tolerated_for(taint, allocated.tolerations);
        if (time) first = earlier(first, (taint.time_added ? taint.time_added->to_system_time() : SystemTime()) + *time);
    }
    return first;
}

std::optional<SystemTime> DeviceTaintEvictionController::time_to_evict(const Pod& pod) const {
    std::optional<SystemTime> first;
    std::set<std::string> names;  // thousands of entries may name one claim
    for (const auto& [entry, name] : objects::resource_claim_names(pod))
        if (name && !name->empty()) names.insert(*name);
    for (const std::string& name : names) {
        const auto claim = claims_.find({pod.metadata.namespace_, name});
        if (!claim || !claim->status.allocation || !objects::is_reserved_for(*claim, pod.metadata.uid)) continue;
        for (const DeviceRequestAllocationResult& device : claim->status.allocation->devices.results)
            first = earlier(first, time_to_evict(device));
    }
    return first;
}

Task<Requeue> DeviceTaintEvictionController::reconcile(client::NamespacedName key) {
    const auto pod = pods_.find(key);
    const auto known = pending_.find(key);
    if (known != pending_.end() && (!pod || pod->metadata.uid != known->second || objects::is_terminating(*pod))) pending_.erase(known);
    if (!pod || pod->spec.node_name.empty() || objects::is_terminating(*pod)) co_return Requeue::never();
    const auto time = time_to_evict(*pod);
    if (!time) {
        if (pending_.erase(key)) events_.normal(*pod, EventReason, "Cancelling deletion");
        co_return Requeue::never();
    }
    pending_[key] = pod->metadata.uid;
    const Duration left = *time - loop().wall_now();
    if (left > Duration::zero()) co_return Requeue::in(left);
    const PodDisruption why{.reason = "DeletionByDeviceTaintManager",
                            .message = "Device Taint manager: deleting due to NoExecute taint",
                            .tell = [this, pod] { events_.normal(*pod, EventReason, "Marking for deletion"); }};
    CO_TRY_VOID(co_await delete_disrupted(client_, *pod, why, Timestamp(loop().wall_now())));
    co_return Requeue::never();
}

Result<ControllerPtr> make_device_taint_eviction(Context& context) { return make_controller<DeviceTaintEvictionController>(context); }

}  // namespace porthole::controllers
