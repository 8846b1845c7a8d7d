#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers {

/// Of the claims that the pod has.
std::vector<std::string> resource_claim_names(const api::core::v1::Pod& pod);

/// What the server makes the name of a generated claim from: room is left for five random characters, and a long pod's name does not push
/// out the entry's.
std::string generated_claim_base(const std::string& pod, const std::string& entry);

/// It will not run any more: it is terminal, or was deleted before it had a node.
bool is_pod_over(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
