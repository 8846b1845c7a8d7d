#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/fields/field_errors.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// How unknown and duplicate fields are handled (the query parameter fieldValidation).
enum class FieldValidation {
    Ignore,  ///< dropped
    Warn,    ///< dropped, with a warning
    Strict,  ///< refused
};

/// A built-in object that conforms to the structure of its kind.
struct DecodedStruct {
    Instance instance;
    std::vector<std::string> warnings;  ///< `unknown field "spec.x"`, with FieldValidation::Warn only
};
/// Reads a JSON body without a fault straight into the struct of its kind: unknown members are dropped, and null counts as absent. Nothing
/// for any other body, for one that does not name the version and kind, and for custom resources: conform_object() is for them, and
/// reports faults.
std::optional<DecodedStruct> decode_struct(const Kind& kind, std::string_view json, FieldValidation validation);

/// An object that conforms to the structure of its kind.
struct DecodedObject {
    Value value;
    std::vector<std::string> warnings;  ///< as DecodedStruct's
};
/// Makes an object of `kind` of a tree (from JSON, YAML, protobuf or a patch), with the duplicates that its parser found: unknown members
/// are dropped, null counts as absent, and the rest is in the form that Kubernetes writes (`canonical`); custom resources keep their own
/// form. Errors: BadRequest with Kubernetes' message (`Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field
/// "spec.x"`).
Result<DecodedObject> conform_object(const Kind& kind, Value value, const std::vector<std::string>& duplicates, FieldValidation validation);

/// Drops unknown members and returns their paths ("spec.containers[0].x") in order. `apiVersion` and `kind` are known at the top, and in
/// types that embed a resource.
std::vector<std::string> prune(Value& value, const Type& type, bool top_level);

/// Sets unset fields to their default in the table. Defaults that depend on other fields are in the kind's strategy.
void apply_table_defaults(Value& value, const Type& type);
/// The same for a struct of the type. Whether it has changed.
bool apply_table_defaults(const Type& type, void* object);

/// Validates what the tables express: required fields, enumerations, bounds, lengths, duplicates in sets and maps. Only for built-in kinds:
/// custom resources are validated against their schemas (structural/schema_validator.h). Skips `metadata` and `status` at the top, which
/// have rules of their own.
void validate_structure(const Value& value, const Kind& kind, FieldErrors& errors);
/// The same for a part, with `path` leading to it.
void validate_structure(const Value& value, const Type& type, const FieldPath& path, FieldErrors& errors);

/// Fields marked immutable in the table that differ: `field is immutable`.
void validate_immutable(const Value& before, const Value& after, const Kind& kind, FieldErrors& errors);

}  // namespace porthole::schema
