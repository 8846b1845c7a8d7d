#pragma once
#include <memory>

#include "base/result.h"
#include "schema/fields/field_errors.h"
#include "schema/value.h"

namespace porthole::schema {

struct SchemaNode;

/// Checks objects against the `openAPIV3Schema` of a custom resource's version. Immutable once made; copies share what it was compiled to.
///
/// Errors have upstream's types, paths and texts: those of kube-openapi's validator, then those of lists that are sets or maps, then those
/// of embedded resources. Of `metadata` at the top a schema may say no more than what its names look like. What one object may cost is
/// bounded.
class SchemaValidator {
public:
    /// Errors: those of SchemaNode::compile.
    static Result<SchemaValidator> compile(const Value& schema);

    void validate(const Value& object, FieldErrors& errors) const;
    /// The same for an update: what `old` has in the same place and in the same form is not reported, so that an object stays editable
    /// whose schema has become narrower (upstream's ratcheting).
    void validate_update(const Value& object, const Value& old, FieldErrors& errors) const;

    /// What the schema was compiled to, for other walks of objects.
    const std::shared_ptr<const SchemaNode>& root() const { return root_; }

private:
    explicit SchemaValidator(std::shared_ptr<const SchemaNode> root) : root_(std::move(root)) {}
    std::shared_ptr<const SchemaNode> root_;
};

/// The same as SchemaValidator::validate, by one node of a schema. `visits` is what may be spent on it, and on what is checked by the same
/// count afterwards; nothing is checked once it is spent.
void validate_by_node(const Value& value, const SchemaNode& node, std::size_t& visits, FieldErrors& errors);
/// What one object may spend.
inline constexpr std::size_t MostVisits = 1'000'000;

}  // namespace porthole::schema
