#include "scheduler/plugins/device_claims.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "api/kubescheduler_v1.h"
#include "base/result.h"
#include "objects/resource_claims.h"
#include "scheduler/devices/binding_conditions.h"
#include "scheduler/framework/convert.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;
using client::NamespacedName;
using schema::Value;

constexpr std::size_t MostReservations = 256;
constexpr std::size_t KeptSelectors = 256;
constexpr int MostAttempts = 5;
/// The first is longer than a server has for a request that it has taken.
constexpr Duration SettleDelay = std::chrono::seconds(65), SettlePause = std::chrono::seconds(5);
/// Keeps a claim from going while it holds devices; the claim controller takes it off.
constexpr const char* Finalizer = "resource.kubernetes.io/delete-protection";

/// A server that answers with one of these may have done what it was asked to, or may do it yet.
bool may_have_happened(const Error& error) {
    switch (error.reason) {
        case Reason::Unknown:
        case Reason::InternalError:
        case Reason::ServerTimeout:
        case Reason::Timeout:
        case Reason::Unavailable:
        case Reason::Io:
            return true;
        default:
            return false;
    }
}

std::uint64_t number_of(const std::string& version) {
    std::uint64_t number = 0;
    std::from_chars(version.data(), version.data() + version.size(), number);
    return number;
}

}  // namespace

bool can_be_reserved(const ResourceClaim& claim) { return claim.status.reserved_for.size() < MostReservations; }

DeviceClaims::DeviceClaims(const Handle& handle)
    : handle_(handle),
      claims_(handle_.context.informers.get<ResourceClaim>()),
      slices_(handle_.context.informers.get<ResourceSlice>()),
      classes_(handle_.context.informers.get<DeviceClass>()),
      selectors_(KeptSelectors) {
    claims_.subscribe({.added = [this](const Claim& now) { claim_changed(nullptr, now); },
                       .updated = [this](const Claim& before, const Claim& now) { claim_changed(before, now); },
                       .deleted = [this](const Claim& last) { claim_changed(last, nullptr); }});
    slices_.on_change([this](const ResourceSlice&) {
        inventory_.reset();
        devices_changed();
    });
    classes_.on_change([this](const DeviceClass&) { devices_changed(); });
}

Task<> DeviceClaims::wait_for_sync() {
    for (client::InformerCore* source : {&claims_.core(), &slices_.core(), &classes_.core()}) CO_TRY_VOID(co_await source->wait_for_sync());
    co_return {};
}

void DeviceClaims::claim_changed(const Claim& before, const Claim& now) {
    changed_.set();
    bool freed = before && before->status.allocation && !(now && now->status.allocation);
    if (before && before->status.allocation) count(*before->status.allocation, -1);
    if (now && now->status.allocation) {
        count(*now->status.allocation, 1);
        freed = forget_pending(now->metadata.uid, &*now->status.allocation) || freed;
    } else if (now) {
        // A watch that was interrupted may show the claim only after its devices were taken from it again.
        const auto pending = pending_.find(now->metadata.uid);
        if (pending != pending_.end() && pending->second.version && number_of(now->metadata.resource_version) > pending->second.version)
            freed = forget_pending(now->metadata.uid) || freed;
    }
    if (before && (!now || now->metadata.uid != before->metadata.uid))
        freed = forget_pending(before->metadata.uid) || objects::is_extended_claim(*before) || freed;
    // Devices that are free again are for everybody.
    if (freed) return devices_changed();
    if (!now || (before && before->status == now->status && before->metadata.uid == now->metadata.uid)) return;
    const std::string key = client::key_of(*now).text();
    devices_changed(&key);
}

void DeviceClaims::count(const Allocation& allocation, int change) {
    for (const DeviceRequestAllocationResult& result : allocation.devices.results) {
        if (result.admin_access.value_or(false)) continue;
        const std::string key = device_key(result.driver, result.pool, result.device);
        DeviceUse& use = in_use_[key];
        if (result.share_id)
            use.change_share(result.consumed_capacity, change);
        else
            use.owners += change;
        if (use.is_over()) in_use_.erase(key);
    }
}

bool DeviceClaims::forget_pending(const std::string& claim_uid, const Allocation* instead) {
    const auto found = pending_.find(claim_uid);
    if (found == pending_.end()) return false;
    const bool freed = !instead || !(found->second.allocation.devices.results == instead->devices.results);
    count(found->second.allocation, -1);
    pending_.erase(found);
    return freed;
}

void DeviceClaims::devices_changed(const std::string* claim) {
    handle_.happened({.kind = ClusterEvent::Kind::DevicesChanged, .device_claim = claim});
}

bool DeviceClaims::is_useless(const ResourceClaim& claim, const PodInfo& pod) const {
    const auto ready = is_ready_for_binding(claim);
    return !ready || (!*ready && has_binding_timed_out(claim, Timestamp(handle_.context.loop.wall_now()), longest_wait(pod)));
}

Duration DeviceClaims::longest_wait(const PodInfo& pod) const {
    using Arguments = api::kubescheduler::v1::DynamicResourcesArgs;
    const ProfileConfiguration& profile = handle_.configuration.profile(pod.scheduler_name);
    return arguments_of<Arguments>(profile, "DynamicResources").binding_timeout.value_or(LongestDeviceWait);
}

DeviceWorld DeviceClaims::world() {
    if (!inventory_) inventory_.emplace(slices_.list());
    const auto find_use = [this](const std::string& key) -> const DeviceUse* {
        const auto found = in_use_.find(key);
        return found == in_use_.end() ? nullptr : &found->second;
    };
    return {*inventory_, find_use, [this](const std::string& name) { return classes_.find({"", name}); }, selectors_,
            [this] { return handle_.context.random.uuid(); }};
}

void DeviceClaims::reserve(const PodInfo& pod, const ResourceClaim& claim, Allocation allocation) {
    count(allocation, 1);
    pending_[claim.metadata.uid] = {.allocation = std::move(allocation), .pod_uid = pod.uid};
}

void DeviceClaims::unreserve(const PodInfo& pod) {
    std::vector<std::string> freed;
    for (const auto& [uid, pending] : pending_)
        if (pending.pod_uid == pod.uid && !pending.is_written) freed.push_back(uid);
    for (const std::string& uid : freed) forget_pending(uid);
    if (!freed.empty()) devices_changed();
    const PodRef copy = std::make_shared<const PodInfo>(pod);
    std::set<std::string_view> seen;  // entries of a pod may name the same claim
    for (const PodDeviceClaim& entry : pod.device_claims)
        if (!entry.claim.empty() && seen.insert(entry.claim).second) handle_.scope.spawn(take_off(copy, {pod.namespace_, entry.claim}));
}

void DeviceClaims::created(const std::string& before, const std::string& claim_uid) {
    auto pending = pending_.extract(before);
    if (!pending) return;
    pending.key() = claim_uid;
    pending_.insert(std::move(pending));
}

void DeviceClaims::deleted(const std::string& claim_uid) {
    if (forget_pending(claim_uid)) devices_changed();
}

/// Whether drivers have to do something yet. Error: it is no use to wait.
Result<bool> DeviceClaims::has_to_wait(const ClaimId& id, const PodInfo& pod) const {
    const Claim claim = claims_.find(id.key);
    const bool is_known = claim && claim->metadata.uid == id.uid;
    if (!is_known || !claim->status.allocation) {
        const auto pending = pending_.find(id.uid);
        if (pending != pending_.end()) return has_binding_conditions(pending->second.allocation);
        const char* what = is_known ? " got deallocated elsewhere in the meantime" : " got deleted in the meantime";
        return Error(Reason::Conflict, "claim " + id.key.text() + what);
    }
    TRY(const bool is_ready, is_ready_for_binding(*claim));
    if (!is_ready && has_binding_timed_out(*claim, Timestamp(handle_.context.loop.wall_now()), longest_wait(pod)))
        return Error(Reason::Timeout, "device binding timeout: claim=" + id.key.name);
    return !is_ready;
}

Task<> DeviceClaims::wait_for_devices(PodRef pod, std::string node, std::vector<ClaimId> claims) {
    // As they are now: a claim that is deallocated meanwhile has none in the end.
    const std::vector<BindingMetrics::Device> devices = devices_of(claims);
    const MonotonicTime begin = handle_.context.loop.now();
    Result<void> waited = co_await wait_until_usable(pod, std::move(node), claims);
    if (is_cancelled(waited)) co_return waited;
    if (std::ranges::any_of(devices, &BindingMetrics::Device::has_conditions))
        metrics_.add(pod->scheduler_name, devices, outcome_of(waited, claims), handle_.context.loop.now() - begin);
    co_return waited;
}

std::vector<BindingMetrics::Device> DeviceClaims::devices_of(const std::vector<ClaimId>& claims) const {
    std::vector<BindingMetrics::Device> devices;
    const auto add = [&](const Allocation& allocation) {
        for (const DeviceRequestAllocationResult& result : allocation.devices.results)
            devices.push_back({result.driver, !result.binding_conditions.empty()});
    };
    for (const ClaimId& id : claims) {
        const Claim claim = claims_.find(id.key);
        const auto pending = pending_.find(id.uid);
        if (claim && claim->metadata.uid == id.uid && claim->status.allocation)
            add(*claim->status.allocation);
        else if (pending != pending_.end())
            add(pending->second.allocation);
    }
    return devices;
}

BindingMetrics::Outcome DeviceClaims::outcome_of(const Result<void>& waited, const std::vector<ClaimId>& claims) const {
    if (waited) return BindingMetrics::Outcome::Success;
    if (waited.error().reason == Reason::Timeout) return BindingMetrics::Outcome::Timeout;
    const bool driver_failed = std::ranges::any_of(claims, [&](const ClaimId& id) {
        const Claim claim = claims_.find(id.key);
        return claim && claim->metadata.uid == id.uid && !is_ready_for_binding(*claim);
    });
    return driver_failed ? BindingMetrics::Outcome::Failure : BindingMetrics::Outcome::Error;
}

Task<> DeviceClaims::wait_until_usable(PodRef pod, std::string node, const std::vector<ClaimId>& claims) {
    const EventLoop& loop = handle_.context.loop;
    const MonotonicTime deadline = loop.now() + longest_wait(*pod);
    for (bool told = false;; told = true) {
        changed_.reset();
        bool waits = false;
        for (const ClaimId& claim : claims) {
            CO_TRY(const bool not_yet, has_to_wait(claim, *pod));
            waits = waits || not_yet;
        }
        if (!waits) co_return {};
        if (!told)
            handle_.events_of(pod->scheduler_name)
                .normal(object_reference(*pod), "BindingConditionsPending", "waiting for binding conditions for device on node " + node);
        CO_TRY_VOID(co_await with_timeout(changed_.wait(), deadline - loop.now(), "device binding timeout"));
    }
}

Task<> DeviceClaims::bind(PodRef pod, ClaimId id) {
    const auto& [key, claim_uid] = id;
    client::Client& client = handle_.context.client;
    std::optional<Allocation> chosen;
    if (const auto pending = pending_.find(claim_uid); pending != pending_.end() && pending->second.pod_uid == pod->uid)
        chosen = pending->second.allocation;
    for (int attempt = 1;; ++attempt) {
        const auto conflict = [&](const char* what) { return Error(Reason::Conflict, "claim " + key.text() + " got " + what); };
        CO_TRY(ResourceClaim claim, co_await client.get<ResourceClaim>(key));
        if (claim.metadata.uid != claim_uid) co_return conflict("replaced in the meantime");
        if (claim.metadata.deletion_timestamp) co_return conflict("deleted in the meantime");
        if (objects::is_reserved_for(claim, pod->uid) && claim.status.allocation) co_return {};
        if (chosen && claim.status.allocation) co_return conflict("allocated elsewhere in the meantime");
        if (!chosen && !claim.status.allocation) co_return conflict("deallocated elsewhere in the meantime");
        if (!can_be_reserved(claim)) co_return conflict("reserved elsewhere in the meantime");
        if (chosen && std::ranges::find(claim.metadata.finalizers, Finalizer) == claim.metadata.finalizers.end()) {
            claim.metadata.finalizers.push_back(Finalizer);
            auto updated = co_await client.update(claim);
            if (!updated && updated.error().reason == Reason::Conflict && attempt < MostAttempts) continue;
            if (!updated) co_return std::move(updated).error().with_context("add finalizer to claim " + key.text());
            claim = *std::move(updated);
        }
        if (chosen) {
            claim.status.allocation = *chosen;
            claim.status.allocation->allocation_timestamp = Timestamp(handle_.context.loop.wall_now());
        }
        claim.status.reserved_for.push_back({.resource = "pods", .name = pod->name, .uid = pod->uid});
        const auto updated = co_await client.update_status(std::move(claim));
        if (!updated && updated.error().reason == Reason::Conflict && attempt < MostAttempts) continue;
        if (updated) {
            written(claim_uid, updated->metadata.resource_version);
            co_return {};
        }
        if (chosen && may_have_happened(updated.error())) {
            written(claim_uid, "");
            handle_.scope.spawn(settle(key, claim_uid));
        }
        co_return Error(updated.error()).with_context("reserve claim " + key.text());
    }
}

Task<> DeviceClaims::settle(NamespacedName key, std::string claim_uid) {
    for (Duration pause = SettleDelay;; pause = SettlePause) {
        CO_TRY_VOID(co_await handle_.context.loop.sleep(pause));
        if (!pending_.contains(claim_uid)) co_return {};
        const auto claim = co_await handle_.context.client.get<ResourceClaim>(key);
        if (is_cancelled(claim)) co_return {};
        if (!claim && !is_not_found(claim)) continue;
        if (claim && claim->metadata.uid == claim_uid && claim->status.allocation) {
            written(claim_uid, claim->metadata.resource_version);
        } else if (forget_pending(claim_uid)) {
            devices_changed();
        }
        co_return {};
    }
}

void DeviceClaims::written(const std::string& claim_uid, const std::string& version) {
    const auto pending = pending_.find(claim_uid);
    if (pending == pending_.end()) return;
    pending->second.is_written = true;
    pending->second.version = number_of(version);
}

Task<> DeviceClaims::take_off(PodRef pod, NamespacedName key) {
    client::Client& client = handle_.context.client;
    const auto claim = co_await client.get<ResourceClaim>(key);
    if (!claim || !objects::is_reserved_for(*claim, pod->uid)) co_return {};
    const Value entry = Value::object({{"$patch", "delete"}, {"uid", pod->uid}});
    const Value patch = Value::object(
        {{"metadata", Value::object({{"uid", claim->metadata.uid}})}, {"status", Value::object({{"reservedFor", Value::array({entry})}})}});
    const auto patched = co_await client.patch<ResourceClaim>(key, client::PatchType::StrategicMerge, schema::to_json(patch), "status");
    if (!patched && !is_not_found(patched) && !is_cancelled(patched))
        handle_.context.log.warn("claim not unreserved", {{"claim", key.text()}, {"error", patched.error().message}});
    co_return {};
}

void DeviceClaims::deallocate(const Claim& claim) {
    handle_.scope.spawn([](Handle& handle, ResourceClaim changed) -> Task<> {
        const std::string key = client::key_of(changed).text();
        changed.status = {};
        const auto updated = co_await handle.context.client.update_status(std::move(changed));
        if (!updated && !is_cancelled(updated))
            handle.context.log.debug("claim not deallocated", {{"claim", key}, {"error", updated.error().message}});
        co_return {};
    }(handle_, *claim));
}

}  // namespace porthole::scheduler
