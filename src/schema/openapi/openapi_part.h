#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// The path of a group version: "api/v1", "apis/apps/v1".
std::string api_path(std::string_view group, std::string_view version);

/// Bytes of memory that a part may take, including when converted to version 3.
inline constexpr std::size_t LargestOpenApiPart = 32 << 20;

/// The part of another server's OpenAPI v2 document below one root. Whatever the document contained, everything in it has a form that our
/// writers and kubectl accept.
struct OpenApiPart {
    Object paths;        ///< path items, without parameters of their own
    Object definitions;  ///< exactly those that the paths refer to, directly or not
    bool operator==(const OpenApiPart&) const = default;
};

/// Extracts the part below `root` ("/apis/wardle.example.com/v1") from a document. Parameters that are defined elsewhere in the document
/// are inlined; parts of a form that OpenAPI v2 does not define are left out. Error: BadRequest if it is not a JSON object, has a dangling
/// reference, or is larger than LargestOpenApiPart.
Result<OpenApiPart> read_openapi_part(std::string_view document, std::string_view root);

/// "Foo" for {"$ref": "#/definitions/Foo"}; "" for anything else.
std::string_view definition_referred_to(const Value& value);

/// New names for the definitions of a part, by their old names.
using DefinitionNames = std::map<std::string, std::string, std::less<>>;
/// `value` with its references changed to these names.
Value with_names(Value value, const DefinitionNames& names);

/// A part in the form of OpenAPI v3: the members "paths" and "components" of a document.
Value to_v3(const OpenApiPart& part);

}  // namespace porthole::schema
