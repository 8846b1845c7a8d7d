#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers {

/// "<pod>-<volume>": the claim behind a pod's ephemeral volume.
std::string ephemeral_claim_name(const api::core::v1::Pod& pod, const api::core::v1::Volume& volume);

/// "ns/claim" of every claim that the pod uses: an index of pods by claim.
std::vector<std::string> claims_of(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
