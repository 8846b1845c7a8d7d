#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"

/// Features of pods that not every node has, by the names that nodes declare in status.declaredFeatures (KEP-5328). Sorted, each once.
namespace porthole::objects {

/// What a node of this version declares. Containers of Windows nodes cannot be resized.
std::vector<std::string> features_of_node(std::string_view operating_system);

/// Which a node needs to run the pod.
std::vector<std::string_view> features_to_run(const api::core::v1::PodSpec& spec);
/// Which the pod's node needs for the change.
std::vector<std::string_view> features_to_update(const api::core::v1::PodSpec& before, const api::core::v1::PodSpec& after);

/// Those of `needed` that are not declared, for a message: "A, B"; "" if none is missing.
std::string missing_features(const std::vector<std::string_view>& needed, const std::vector<std::string>& declared);

}  // namespace porthole::objects
