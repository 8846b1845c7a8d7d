#pragma once
#include <string>

#include "api/core_v1.h"

namespace porthole::apiserver {

inline constexpr const char* MirrorPodAnnotation = "kubernetes.io/config.mirror";

/// The resource of the first API object that the pod needs, "secrets" or "configmaps (via projected volumes)"; "" if it needs none. A
/// volume of an unknown type counts as a reference.
std::string api_reference_of(const api::core::v1::Pod& pod);

}  // namespace porthole::apiserver
