#pragma once
#include "schema/fields/field_errors.h"
#include "schema/structural/schema_patterns.h"
#include "schema/value.h"

namespace porthole::schema {

/// Checks that `schema`, the openAPIV3Schema of a custom resource's version, is structural: it describes every field outside of the schemas
/// that it combines, uses only what upstream allows, and its defaults are valid. `path` is its path; `patterns` are those of the whole
/// definition.
void validate_structural_schema(const Value& schema, const FieldPath& path, SchemaPatterns& patterns, FieldErrors& errors);

/// Whether rules in CEL are anywhere in it.
bool has_validation_rules(const Value& schema);

}  // namespace porthole::schema
