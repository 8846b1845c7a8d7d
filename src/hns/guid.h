#pragma once
#include <string>
#include <string_view>

#include "runtime/random.h"

namespace porthole::hns {

inline constexpr std::string_view ZeroGuid = "00000000-0000-0000-0000-000000000000";

/// "4B5E6B2B-1A2C-4D5E-8F00-0123456789AB", in upper case, without braces. "" if it is not a GUID.
std::string canonical_guid(std::string_view text);
bool is_guid(std::string_view text);
/// Ids compare without regard to case.
bool same_guid(std::string_view left, std::string_view right);
/// A random one in canonical form.
std::string make_guid(Random& random);

}  // namespace porthole::hns
