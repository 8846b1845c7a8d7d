#pragma once
#include <set>
#include <string>

#include "schema/fields/field_errors.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The expressions that a stored definition has, in any of its versions. They stay valid when the definition changes: the libraries that
/// they use are not taken away.
struct StoredExpressions {
    std::set<std::string, std::less<>> rules, messages;
    void add(const schema::Value& schema);
};

/// What is known of the schema of a definition's version whose rules are checked.
struct RuleCheck {
    const StoredExpressions* stored = nullptr;  ///< nullptr where the definition is new
    /// The stored definition has the same schema: what a rule may cost is not held against it again.
    bool is_unchanged = false;
    /// Otherwise only the rules' texts are checked: types cannot be had from a schema that is not structural.
    bool is_structural = true;
};

/// Checks the rules in CEL of an openAPIV3Schema, with upstream's errors: their texts, whether they compile, what they may cost each and
/// all together, whether the defaults of the schema obey them. `path` leads to the schema.
void check_rules(const schema::Value& schema, const schema::FieldPath& path, const RuleCheck& check, schema::FieldErrors& errors);

}  // namespace porthole::apiserver
