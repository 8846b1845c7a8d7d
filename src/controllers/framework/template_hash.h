#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/core_v1.h"

namespace porthole::controllers {

/// The number in letters and digits that form no words.
std::string safe_encode(std::string_view decimal);
std::uint32_t fnv1(std::string_view bytes, std::uint32_t hash = 2166136261u);
std::uint32_t fnv1a(std::string_view bytes, std::uint32_t hash = 2166136261u);

/// Names the template: equal templates have equal hashes, and `collision_count` gives another one where two differ and meet.
/// Differs from Kubernetes: made from the template's JSON, because upstream hashes Go's debug print of it; nobody recomputes it.
std::string template_hash(const api::core::v1::PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count);

}  // namespace porthole::controllers
