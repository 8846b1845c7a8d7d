#pragma once
#include <string>
#include <string_view>

#include "schema/value.h"

namespace porthole::schema {

// The protobuf form of OpenAPI v2 (package openapi.v2 of gnostic), made from the same trees as the JSON form. Each function adds one entry
// of a message to `out`, the encoded content of that message.

void append_gnostic_path(const std::string& path, const Value& item, std::string& out);          ///< to Paths
void append_gnostic_definition(const std::string& name, const Value& schema, std::string& out);  ///< to Definitions
/// The Document around them.
std::string gnostic_document(std::string_view title, std::string_view version, std::string_view paths, std::string_view definitions);

}  // namespace porthole::schema
