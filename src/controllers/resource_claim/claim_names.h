#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers {

/// Of the claims that the pod has.
std::vector<std::string> resource_claim_names(const api::core::v1::Pod& pod);

/// The base from which the server generates a claim's name: leaves room for five random characters, and keeps the entry's name even if the
/// pod's name is long.
std::string generated_claim_base(const std::string& pod, const std::string& entry);

/// Whether it will not run any longer: it is terminal, or was deleted before it had a node.
bool is_pod_over(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
