#pragma once
#include <memory>

#include "schema/fields/field_errors.h"
#include "schema/structural/schema_validator.h"
#include "schema/value.h"

namespace porthole::apiserver {

struct RuleNode;
class SchemaTypes;

/// The CEL rules of a custom resource's version (`x-kubernetes-validations`), evaluated as upstream does: errors, costs and budgets are the
/// same. A rule is compiled when the first value of its place is checked. Used on one thread.
class ValidationRules {
public:
    /// `schema` is the version's openAPIV3Schema, from which `validator` was compiled.
    ValidationRules(const schema::Value& schema, const schema::SchemaValidator& validator);
    ~ValidationRules();

    /// Adds to `errors`, which already has all other errors of `object`: rules need an object of the schema's types, so they are not
    /// evaluated where a field is missing, too large or of the wrong type. `old` is the object before an update; nullptr for a creation. A
    /// value that an update does not change does not make the object invalid: its error is a warning (FieldErrors::warnings).
    void validate(const schema::Value& object, const schema::Value* old, schema::FieldErrors& errors) const;

private:
    std::shared_ptr<const schema::SchemaNode> schema_;
    std::unique_ptr<SchemaTypes> types_;
    std::unique_ptr<const RuleNode> root_;
};

}  // namespace porthole::apiserver
