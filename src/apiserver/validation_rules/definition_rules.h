#pragma once
#include <set>
#include <string>

#include "schema/fields/field_errors.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The expressions of a stored definition, in any of its versions. They stay valid when the definition changes: libraries that they use are
/// not removed.
struct StoredExpressions {
    std::set<std::string, std::less<>> rules, messages;
    void add(const schema::Value& schema);
};

/// Facts about the schema of a definition's version whose rules are checked.
struct RuleCheck {
    const StoredExpressions* stored = nullptr;  ///< nullptr if the definition is new
    /// The stored definition has the same schema: the cost of its rules is not checked again.
    bool is_unchanged = false;
    /// If false, only the rules' texts are checked: a schema that is not structural has no types.
    bool is_structural = true;
};

/// Checks the CEL rules of an openAPIV3Schema, with upstream's errors: their texts, whether they compile, their estimated costs each and in
/// total, whether the defaults of the schema satisfy them. `path` is that of the schema.
void check_rules(const schema::Value& schema, const schema::FieldPath& path, const RuleCheck& check, schema::FieldErrors& errors);

}  // namespace porthole::apiserver
