#pragma once
#include <string_view>
#include <vector>

#include "schema/json/json.h"

namespace porthole::schema {

/// Whether parse_json() takes the text. Its errors.
Result<void> check_json(std::string_view text, JsonLimits limits = {});

/// A tree of the parts of an object that `paths` names ("metadata.labels", "spec.nodeName"), without the time for the rest: that is passed
/// over, so a text that is not valid there has parts all the same. What is absent stays absent; names with dots cannot be asked for.
/// Errors: BadRequest.
Result<Value> parse_json_parts(std::string_view text, const std::vector<std::string_view>& paths);

}  // namespace porthole::schema
