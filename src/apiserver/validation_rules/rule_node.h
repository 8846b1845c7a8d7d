#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/validation_rules/rule_compiler.h"
#include "apiserver/validation_rules/schema_types.h"
#include "schema/fields/field_errors.h"
#include "schema/path_step.h"
#include "schema/structural/schema_node.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// A place of a schema with rules at or below it. Borrows the types and the compiled schema.
struct RuleNode {
    using Ptr = std::unique_ptr<const RuleNode>;
    struct Property {
        std::string name;
        Ptr node;
    };
    struct Rule {
        ValidationRule given;
        std::string field_path;  ///< that its errors are for, below the value's; "" for the value itself
    };

    const schema::SchemaNode* schema = nullptr;
    cel::TypeRef type;  ///< nullptr if expressions cannot see the value
    std::vector<Rule> rules;
    std::vector<Property> properties;  ///< sorted by name
    Ptr additional_properties, items;

    const RuleNode* find_property(std::string_view name) const;
    /// One per rule, compiled on first use. Not thread-safe.
    const std::vector<CompiledRule>& compiled() const;

    /// nullptr if no rule is at or below the place. `schema` is the source of `compiled`; `type` is its declared type.
    static Ptr create(const schema::Value& schema, const schema::SchemaNode& compiled, cel::TypeRef type, SchemaTypes& types);

private:
    mutable std::optional<std::vector<CompiledRule>> compiled_;
};

/// The remaining budget for the rules of one object.
struct RuleBudget {
    std::int64_t cost = 10'000'000;             ///< upstream's; negative once exceeded, after which nothing is evaluated
    std::uint64_t work = 50'000'000;            ///< steps: see cel::Work
    std::size_t errors = 1000;                  ///< after which the object is wrong enough
    std::size_t text = std::size_t{256} << 10;  ///< bytes of their texts
    std::size_t warnings = 100;                 ///< further ones are left out
};

/// Evaluates the rules at and below a node. `old` is the value before; nullptr if there is none. With `ratchets`, an error about an
/// unchanged value is a warning, unless the rule uses the old value.
void evaluate_rules(const RuleNode& node, const schema::Value& value, const schema::Value* old, const schema::PathStep& path, bool ratchets,
                    RuleBudget& budget, schema::FieldErrors& errors);

}  // namespace porthole::apiserver
