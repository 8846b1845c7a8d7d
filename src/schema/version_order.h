#pragma once
#include <string_view>

namespace porthole::schema {

/// The versions of a group in upstream's order: v2, v1, v1beta2, v1beta1, v1alpha1, and then others by name. True if `left` comes before
/// `right`.
bool is_preferred_version(std::string_view left, std::string_view right);

}  // namespace porthole::schema
