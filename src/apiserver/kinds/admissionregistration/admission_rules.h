#pragma once
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/expressions/admission_expressions.h"
#include "apiserver/kinds/checks.h"

/// Rules shared by webhook configurations, policies and their bindings.
namespace porthole::apiserver {

void validate_rule(const api::admissionregistration::v1::RuleWithOperations& rule, const FieldPath& path, FieldErrors& errors);
void validate_named_rule(const api::admissionregistration::v1::NamedRuleWithOperations& rule, const FieldPath& path, FieldErrors& errors);
void default_match_resources(api::admissionregistration::v1::MatchResources& resources);
void validate_match_resources(const api::admissionregistration::v1::MatchResources& resources, const FieldPath& path, FieldErrors& errors);
/// At most 64, each with a unique name and an expression that compiles to a bool.
void validate_match_conditions(const std::vector<api::admissionregistration::v1::MatchCondition>& conditions, AdmissionNames names,
                               const FieldPath& path, FieldErrors& errors);
/// One invalid() where the expression does not compile; `shown` is its text as it was sent.
void check_expression(const Expression& expression, const std::string& shown, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
