#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace porthole::client {

/// Cuts JSON text into its parts without parsing them, so that each part is decoded once, directly into its struct.
///
/// Only the nesting is examined; the decoder of a slice checks its content. The slices point into `json`. Error: BadRequest if `json` is
/// not an object or array, or is incomplete.
Result<std::vector<std::pair<std::string_view, std::string_view>>> json_members(std::string_view json);
Result<std::vector<std::string_view>> json_elements(std::string_view json);
/// The value of the object's member `key` (without escapes), or "" if there is none. The text after it is not examined.
Result<std::string_view> json_member(std::string_view json, std::string_view key);
/// The text of an API object without metadata.managedFields, which are half of many: `object` itself, or a copy in `room`. They are cut out
/// only where metadata is the first member that is an object and no spaces are between, as Kubernetes writes it; elsewhere they stay.
std::string_view without_managed_fields(std::string_view object, std::string& room);
/// A string slice without its quotes, escapes unchanged; "" for any other slice.
std::string_view json_plain_string(std::string_view slice);

}  // namespace porthole::client
