#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/type.h"

namespace porthole::schema {

/// Findings of a body's reader in addition to the struct.
struct StructFindings {
    std::vector<std::string> unknown, duplicates;  ///< paths, "spec.containers[0].x"
    std::optional<std::string> api_version, kind;  ///< at the top, where they are strings
};

enum class StructParse {
    Done,
    NeedsTree,  ///< a type occurred whose JSON depends on its value: parse a tree instead
};

/// Parses JSON directly into a struct of `type`, without a tree; `findings` may be null. After an error or NeedsTree the struct is partly
/// filled: discard it. Errors: BadRequest with the message of `from_value`.
Result<StructParse> parse_json_struct(const Type& type, void* object, std::string_view text, StructFindings* findings);

}  // namespace porthole::schema
