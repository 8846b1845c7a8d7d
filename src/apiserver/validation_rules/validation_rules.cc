#include "apiserver/validation_rules/validation_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "apiserver/validation_rules/rule_node.h"
#include "apiserver/validation_rules/schema_types.h"

namespace porthole::apiserver {
namespace {

/// Errors after which upstream evaluates no rule.
bool prevents_rules(const Cause& cause) {
    constexpr std::array<std::string_view, 5> Types = {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong",
                                                       "FieldValueTooMany", "FieldValueTypeInvalid"};
    return std::ranges::find(Types, cause.type) != Types.end();
}

}  // namespace

ValidationRules::ValidationRules(const schema::Value& schema, const schema::SchemaValidator& validator)
    : schema_(validator.root()), types_(std::make_unique<SchemaTypes>()) {
    root_ = RuleNode::create(schema, *schema_, types_->declare(schema, true), *types_);
}

ValidationRules::~ValidationRules() = default;

void ValidationRules::validate(const schema::Value& object, const schema::Value* old, schema::FieldErrors& errors) const {
    if (!root_) return;
    if (std::ranges::any_of(errors.causes(), prevents_rules)) {
        return errors.invalid("<nil>", schema::null_value(),
                              "some validation rules were not checked because the object was invalid; correct the existing errors to "
                              "complete validation");
    }
    RuleBudget budget;
    evaluate_rules(*root_, object, old, schema::PathStep(), true, budget, errors);
}

}  // namespace porthole::apiserver
