#include "objects/claim_usage.h"

#include <algorithm>

#include "objects/owners.h"
#include "objects/resource_claims.h"

namespace porthole::objects {

using namespace api::resource::v1;
using api::core::v1::Pod;
using api::core::v1::ResourceQuotaSpec;

namespace {

constexpr std::int64_t MostDevices = 32;  ///< in one claim: what a request for all devices may become

template <class Request>
std::int64_t devices_of(const Request& request) {
    if (request.allocation_mode == "ExactCount") return request.count;
    return request.allocation_mode == "All" ? MostDevices : 0;
}

/// Of alternatives, for each class the one with the most devices.
ResourceAmounts devices_by_class(const ResourceClaim& claim) {
    ResourceAmounts devices;
    for (const DeviceRequest& request : claim.spec.devices.requests) {
        std::map<std::string, std::int64_t> most;
        if (request.exactly) most[request.exactly->device_class_name] = devices_of(*request.exactly);
        for (const DeviceSubRequest& one : request.first_available)
            most[one.device_class_name] = std::max(most[one.device_class_name], devices_of(one));
        for (const auto& [name, count] : most) devices[name] += Quantity::from_value(count);
    }
    return devices;
}

/// The pod that the scheduler made the claim for, as the claim says; null if it did not.
const api::meta::v1::OwnerReference* pod_of(const ResourceClaim& claim) {
    const auto* owner = is_extended_claim(claim) ? find_controller(claim.metadata) : nullptr;
    return owner && owner->kind == "Pod" && owner->api_version == "v1" ? owner : nullptr;
}

}  // namespace

ClaimUsage::ClaimUsage(const Objects<DeviceClass>& classes, const Objects<Pod>& pods, Objects<ResourceClaim> claims, SystemTime now)
    : claims_(std::move(claims)), now_(now) {
    for (const auto& one : classes)
        if (one->spec.extended_resource_name) offered_[one->metadata.name] = *one->spec.extended_resource_name;
    for (const auto& pod : pods) pods_[pod->metadata.uid] = pod;
    for (const auto& claim : claims_)
        if (const auto* owner = pod_of(*claim)) {
            const Age age{claim->metadata.creation_timestamp, claim->metadata.name};
            const auto [first, is_first] = first_.emplace(owner->uid, age);
            if (!is_first) first->second = std::min(first->second, age);
        }
}

ResourceAmounts ClaimUsage::of(const ResourceClaim& claim) const {
    ResourceAmounts usage = usage_of_kind(ResourceClaim::kind()), extended;
    for (const auto& [name, devices] : devices_by_class(claim)) {
        usage[name + ".deviceclass.resource.k8s.io/devices"] = devices;
        extended["requests.deviceclass.resource.kubernetes.io/" + name] = devices;
        if (const auto offered = offered_.find(name); offered != offered_.end()) extended["requests." + offered->second] += devices;
    }
    const ResourceAmounts counted = counted_of_pod(claim);
    for (const auto& [name, amount] : extended)
        if (const Quantity more = amount - amount_of(counted, name); more.sign() > 0) usage[name] = more;
    return usage;
}

ResourceAmounts ClaimUsage::of_all() const {
    ResourceAmounts sum;
    for (const auto& claim : claims_) sum += of(*claim);
    return sum;
}

/// Nothing if the pod has another such claim: anyone who may create claims can say that theirs is one.
ResourceAmounts ClaimUsage::counted_of_pod(const ResourceClaim& claim) const {
    const auto* owner = pod_of(claim);
    const auto found = owner ? pods_.find(owner->uid) : pods_.end();
    if (found == pods_.end() || found->second->metadata.name != owner->name) return {};
    const std::string named = extended_claim_name(*found->second);
    if (!named.empty() && named != claim.metadata.name) return {};
    const auto first = first_.find(owner->uid);
    if (named.empty() && first != first_.end() && first->second < Age{claim.metadata.creation_timestamp, claim.metadata.name}) return {};
    return usage_of(*found->second, now_);
}

bool limits_extended_resources(const ResourceQuotaSpec& quota) {
    return std::ranges::any_of(quota.hard,
                               [](const auto& hard) { return hard.first.starts_with("requests.") && hard.first.contains('/'); });
}

}  // namespace porthole::objects
