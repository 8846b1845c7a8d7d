#pragma once
#include <memory>

#include "base/result.h"
#include "schema/fields/field_errors.h"
#include "schema/value.h"

namespace porthole::schema {

struct SchemaNode;

/// Validates objects against the `openAPIV3Schema` of a custom resource's version. Immutable; copies share the compiled schema.
///
/// Errors have upstream's types, paths and messages: those of kube-openapi's validator, then those of lists that are sets or maps, then
/// those of embedded resources. For `metadata` at the top, a schema may only restrict the names. The cost of one object is limited.
class SchemaValidator {
public:
    /// Errors: those of SchemaNode::compile.
    static Result<SchemaValidator> compile(const Value& schema);

    void validate(const Value& object, FieldErrors& errors) const;
    /// The same for an update: a value that `old` has in the same place and form is not reported, so an object stays editable after its
    /// schema has become stricter (upstream's ratcheting).
    void validate_update(const Value& object, const Value& old, FieldErrors& errors) const;

    /// The compiled schema, for other walks of objects.
    const std::shared_ptr<const SchemaNode>& root() const { return root_; }

private:
    explicit SchemaValidator(std::shared_ptr<const SchemaNode> root) : root_(std::move(root)) {}
    std::shared_ptr<const SchemaNode> root_;
};

/// As SchemaValidator::validate, for one node of a schema. `visits` is the budget, which later calls may share; once it is used up, nothing
/// is checked.
void validate_by_node(const Value& value, const SchemaNode& node, std::size_t& visits, FieldErrors& errors);
/// Budget of one object.
inline constexpr std::size_t MostVisits = 1'000'000;

}  // namespace porthole::schema
