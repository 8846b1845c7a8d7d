#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/core_v1.h"
#include "api/resource_v1.h"

/// Pods and their ResourceClaims.
namespace porthole::objects {

/// The names of the claims for the entries of the pod's spec.resourceClaims, by the entry's name: "" if none is needed, nullopt if it has
/// not been created yet. In the time of the lists, of which each may have ten thousands. The keys are the pod's texts.
std::unordered_map<std::string_view, std::optional<std::string>> resource_claim_names(const api::core::v1::Pod& pod);

/// The name of the claim that the scheduler made for extended resources of the pod; "" for none.
std::string extended_claim_name(const api::core::v1::Pod& pod);
/// Whether the container gets the resource from that claim, and not from what the node itself has of it.
bool is_of_extended_claim(const api::core::v1::Pod& pod, const std::string& container, const std::string& resource);
/// Whether the scheduler made the claim for extended resources of a pod.
bool is_extended_claim(const api::resource::v1::ResourceClaim& claim);

/// Whether status.reservedFor has the pod.
bool is_reserved_for(const api::resource::v1::ResourceClaim& claim, const std::string& pod_uid);

}  // namespace porthole::objects
