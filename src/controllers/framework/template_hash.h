#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/core_v1.h"

namespace porthole::controllers {

/// The number in letters and digits that form no words.
std::string safe_encode(std::string_view decimal);

/// Names the template: equal templates have equal hashes, and `collision_count` gives another one where two differ and meet.
/// Differs from Kubernetes: made from the template's JSON, because upstream hashes Go's debug print of it; nobody recomputes it.
std::string template_hash(const api::core::v1::PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count);

}  // namespace porthole::controllers
