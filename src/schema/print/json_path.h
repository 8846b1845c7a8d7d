#pragma once
#include <string_view>
#include <vector>

#include "schema/value.h"

namespace porthole::schema {

/// The values that `path` selects below `root`: ".spec.ports[0].name", "['a.b']", "[*]", ".conditions[?(@.type=="Ready")].status", with
/// dots escaped by a backslash, with or without braces around it. A malformed path selects nothing. Pointers into `root`.
std::vector<const Value*> select_path(const Value& root, std::string_view path);
/// The first of these, or null.
const Value& first_at(const Value& root, std::string_view path);

}  // namespace porthole::schema
