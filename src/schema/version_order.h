#pragma once
#include <string_view>

namespace porthole::schema {

/// Versions of a group as upstream orders them: v2, v1, v1beta2, v1beta1, v1alpha1, and then the others by name. True when `left` comes
/// before `right`.
bool is_preferred_version(std::string_view left, std::string_view right);

}  // namespace porthole::schema
