#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers {

/// "ns/claim" of every claim that the pod uses: an index of pods by claim.
std::vector<std::string> claims_of(const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
