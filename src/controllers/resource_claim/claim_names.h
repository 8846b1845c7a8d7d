#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/resource_v1.h"

namespace porthole::controllers {

/// The name of the ResourceClaim behind an entry of spec.resourceClaims; nothing while it is still to be made, or where none is needed.
std::optional<std::string> resource_claim_name(const api::core::v1::Pod& pod, const api::core::v1::PodResourceClaim& entry);
/// Of all entries.
std::vector<std::string> resource_claim_names(const api::core::v1::Pod& pod);

/// What the server makes the name of a generated claim from: room is left for five random characters, and a long pod's name does not push
/// out the entry's.
std::string generated_claim_base(const std::string& pod, const std::string& entry);

bool is_reserved_for(const api::resource::v1::ResourceClaim& claim, const std::string& pod_uid);

/// It will not run any more: it is terminal, or was deleted before it had a node.
bool is_pod_over(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
