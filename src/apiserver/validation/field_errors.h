#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "schema/fields/field_errors.h"
#include "schema/type.h"

namespace porthole::apiserver {

using schema::FieldErrors;
using schema::FieldPath;

/// `path / "spec" / "replicas"`
inline FieldPath operator/(const FieldPath& path, std::string_view name) { return path.child(name); }

/// One invalid() for each problem.
void invalid_all(FieldErrors& errors, const FieldPath& path, const schema::Value& value, const std::vector<std::string>& problems);

/// The Invalid error "Deployment.apps "x" is invalid: ...". Requires: !errors.empty().
Error invalid(const schema::Kind& kind, std::string_view name, const FieldErrors& errors);

}  // namespace porthole::apiserver
