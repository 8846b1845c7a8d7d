#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// The place of a group version: "api/v1", "apis/apps/v1".
std::string api_path(std::string_view group, std::string_view version);

/// Bytes of memory that a part may take, in the form of version 3, too.
inline constexpr std::size_t LargestOpenApiPart = 32 << 20;

/// What another server's OpenAPI v2 document says of the paths below one root. All that is in it is of a form that our writers and
/// kubectl accept, whatever the document said.
struct OpenApiPart {
    Object paths;        ///< path items, without parameters of their own
    Object definitions;  ///< each one that they lead to, and no other
    bool operator==(const OpenApiPart&) const = default;
};

/// Takes the part below `root` ("/apis/wardle.example.com/v1") out of a document. Parameters that are defined elsewhere in the document are
/// put in their places; what has a form that OpenAPI v2 does not know is left out. Error: BadRequest for what is not a JSON object, leads
/// nowhere, or is larger than LargestOpenApiPart.
Result<OpenApiPart> read_openapi_part(std::string_view document, std::string_view root);

/// "Foo" for {"$ref": "#/definitions/Foo"}; "" for anything else.
std::string_view definition_referred_to(const Value& value);

/// Other names for the definitions of a part, by the names that it gives them.
using DefinitionNames = std::map<std::string, std::string, std::less<>>;
/// `value` with its references changed to these names.
Value with_names(Value value, const DefinitionNames& names);

/// What a part says in the words of OpenAPI v3: the members "paths" and "components" of a document.
Value to_v3(const OpenApiPart& part);

}  // namespace porthole::schema
