#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/type.h"

namespace porthole::schema {

/// What a reader of a body needs in addition to the struct.
struct StructFindings {
    std::vector<std::string> unknown, duplicates;  ///< paths, "spec.containers[0].x"
    std::optional<std::string> api_version, kind;  ///< at the top, where they are strings
};

enum class StructParse {
    Done,
    NeedsTree,  ///< a type whose JSON depends on its value came up: parse a tree instead
};

/// Reads JSON directly into a struct of `type`, without a tree between; `findings` may be null. After an error or NeedsTree the struct
/// is partly filled: discard it. Errors: BadRequest, in the words of `from_value`.
Result<StructParse> parse_json_struct(const Type& type, void* object, std::string_view text, StructFindings* findings);

}  // namespace porthole::schema
