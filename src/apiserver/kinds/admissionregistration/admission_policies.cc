#include <algorithm>
#include <set>

#include "apiserver/kinds/admissionregistration/admission_rules.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "base/strings.h"
#include "objects/conditions.h"

/// Policies that are evaluated here, and their bindings.
namespace porthole::apiserver {
namespace {

using namespace api::admissionregistration::v1;

constexpr std::size_t AnnotationLimit = 20, LongestValueExpression = 5 * 1024;

/// What the policy does, and the variables that it uses for that.
void validate_effects(const ValidatingAdmissionPolicy& policy, FieldErrors& errors);
void validate_effects(const MutatingAdmissionPolicy& policy, FieldErrors& errors);

// --- What both kinds of policies have ---

template <class Policy>
void default_policy(Policy& policy) {
    if (!policy.spec.failure_policy) policy.spec.failure_policy = "Fail";
    if (policy.spec.match_constraints) default_match_resources(*policy.spec.match_constraints);
}

void validate_param_kind(const ParamKind& kind, const FieldPath& path, FieldErrors& errors) {
    const auto joined = [](const names::Problems& problems) { return join(problems, ","); };
    const auto slashes = std::ranges::count(kind.api_version, '/');
    if (kind.api_version.empty()) {
        errors.required(path / "apiVersion");
    } else if (slashes > 1) {
        errors.invalid(path / "apiVersion", kind.api_version, "unexpected GroupVersion string: " + kind.api_version);
    } else {
        const std::size_t slash = kind.api_version.find('/');
        const std::string group = slashes == 0 || kind.api_version == "/" ? "" : kind.api_version.substr(0, slash);
        const std::string version = slashes == 0 ? kind.api_version : kind.api_version.substr(slash + 1);
        if (const auto problems = names::check_dns1123_subdomain(group); !group.empty() && !problems.empty())
            errors.invalid(path / "apiVersion", group, joined(problems));
        if (version.empty())
            errors.invalid(path / "apiVersion", kind.api_version, "version must be specified");
        else if (const auto problems = names::check_dns1035_label(version); !problems.empty())
            errors.invalid(path / "apiVersion", version, joined(problems));
    }
    if (!check_required(kind.kind, path / "kind", errors)) return;
    if (const auto problems = names::check_dns1035_label(to_lower(kind.kind)); !problems.empty())
        errors.invalid(path / "kind", kind.kind, "may have mixed case, but should otherwise match: " + joined(problems));
}

/// At least one rule, for what is matched has to have a type.
void validate_constraints(const schema::Box<MatchResources>& constraints, const FieldPath& path, FieldErrors& errors) {
    if (!constraints) return errors.required(path);
    validate_match_resources(*constraints, path, errors);
    if (constraints->resource_rules.empty()) errors.required(path / "resourceRules");
}

/// What is deleted cannot be changed.
void check_mutable(const std::vector<NamedRuleWithOperations>& rules, const FieldPath& path, FieldErrors& errors) {
    for (const NamedRuleWithOperations& rule : rules)
        for (const std::string& operation : rule.operations)
            check_choice(operation, {"*", "CONNECT", "CREATE", "UPDATE"}, path / "operations", errors);
}

bool is_identifier(std::string_view name) {
    const auto starts = [](char c) { return c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z'); };
    const auto continues = [&](char c) { return starts(c) || (c >= '0' && c <= '9'); };
    return !name.empty() && starts(name[0]) && std::ranges::all_of(name, continues) && !cel::is_reserved(name);
}

void validate_variables(const std::vector<Variable>& variables, AdmissionNames names, AdmissionCompiler& compiler, const FieldPath& path,
                        FieldErrors& errors) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const std::string &name = variables[i].name, &expression = variables[i].expression;
        const FieldPath at = path.index(i);
        if (trim(name).empty())
            errors.required(at / "name", "name is not specified");
        else if (!is_identifier(name))
            errors.invalid(at / "name", name, "must be a valid CEL identifier");
        if (trim(expression).empty())
            errors.required(at / "expression", "expression is not specified");
        else
            check_expression(compiler.add_variable(name, expression, names), expression, at / "expression", errors);
    }
}

template <class Spec>
AdmissionNames names_of(const Spec& spec) {
    return {.params = spec.param_kind.has_value()};
}

/// All but match conditions and what the policy does.
template <class Spec>
void validate_frame(const Spec& spec, FieldErrors& errors) {
    check_required_choice(spec.failure_policy.value_or(""), {"Fail", "Ignore"}, "spec.failurePolicy", errors);
    if (spec.param_kind) validate_param_kind(*spec.param_kind, "spec.paramKind", errors);
    validate_constraints(spec.match_constraints, "spec.matchConstraints", errors);
}

template <class Spec>
void validate_policy_conditions(const Spec& spec, FieldErrors& errors) {
    validate_match_conditions(spec.match_conditions, names_of(spec), "spec.matchConditions", errors);
}

/// Conditions that an update leaves as they are may be such that they would be refused now.
template <class Spec>
bool same_policy_conditions(const Spec& spec, const Spec& old) {
    return spec.match_conditions == old.match_conditions && spec.param_kind == old.param_kind;
}

template <class Policy>
void validate_policy(const Policy& policy, FieldErrors& errors) {
    validate_frame(policy.spec, errors);
    validate_policy_conditions(policy.spec, errors);
    validate_effects(policy, errors);
}

template <class Policy>
void validate_policy_update(const Policy& policy, const Policy& old, FieldErrors& errors) {
    validate_frame(policy.spec, errors);
    if (!same_policy_conditions(policy.spec, old.spec)) validate_policy_conditions(policy.spec, errors);
    validate_effects(policy, errors);
}

// --- Validating policies ---

bool has_line_break(std::string_view text) { return text.find_first_of("\n\r") != std::string_view::npos; }

void validate_validation(const Validation& validation, AdmissionNames names, const AdmissionCompiler& compiler, const FieldPath& path,
                         FieldErrors& errors) {
    if (trim(validation.expression).empty()) {
        errors.required(path / "expression", "expression is not specified");
    } else {
        check_expression(compiler.compile(validation.expression, names, {cel::types::boolean()}), validation.expression,
                         path / "expression", errors);
    }
    const std::string& message_expression = validation.message_expression;
    if (!message_expression.empty() && trim(message_expression).empty()) {
        errors.invalid(path / "messageExpression", message_expression, "must be non-empty if specified");
    } else if (!message_expression.empty()) {
        const AdmissionNames message_names{.params = names.params, .authorizer = false};
        check_expression(compiler.compile(message_expression, message_names, {cel::types::string()}), message_expression,
                         path / "messageExpression", errors);
    }
    if (!validation.message.empty() && trim(validation.message).empty())
        errors.invalid(path / "message", validation.message, "must be non-empty if specified");
    else if (has_line_break(trim(validation.message)))
        errors.invalid(path / "message", validation.message, "must not contain line breaks");
    check_choice(validation.reason, {"Forbidden", "Invalid", "RequestEntityTooLarge"}, path / "reason", errors);
}

void validate_annotation(const AuditAnnotation& annotation, const std::string& policy, AdmissionNames names,
                         const AdmissionCompiler& compiler, const FieldPath& path, FieldErrors& errors) {
    if (policy.empty())
        errors.invalid(path / "key", annotation.key, "requires metadata.name be non-empty");
    else
        invalid_all(errors, path / "key", policy + "/" + annotation.key, names::check_qualified_name(policy + "/" + annotation.key));
    const std::string expression(trim(annotation.value_expression));
    if (expression.empty()) {
        errors.required(path / "valueExpression", "valueExpression is not specified");
    } else if (expression.size() > LongestValueExpression) {
        errors.required(path / "valueExpression", "must not exceed " + std::to_string(LongestValueExpression) + " bytes in length");
    } else {
        check_expression(compiler.compile(expression, names, {cel::types::string(), cel::types::null()}), annotation.value_expression,
                         path / "valueExpression", errors);
    }
}

void validate_effects(const ValidatingAdmissionPolicy& policy, FieldErrors& errors) {
    const auto& spec = policy.spec;
    const AdmissionNames names = names_of(spec);
    AdmissionCompiler compiler;
    validate_variables(spec.variables, names, compiler, "spec.variables", errors);
    if (spec.validations.empty() && spec.audit_annotations.empty()) {
        for (const char* path : {"spec.validations", "spec.auditAnnotations"})
            errors.required(path, "validations or auditAnnotations must contain at least one item");
        return;
    }
    for (std::size_t i = 0; i < spec.validations.size(); ++i)
        validate_validation(spec.validations[i], names, compiler, FieldPath("spec.validations").index(i), errors);
    if (spec.audit_annotations.size() > AnnotationLimit) {
        errors.invalid("spec.auditAnnotations", static_cast<std::int64_t>(spec.audit_annotations.size()),
                       "must not have more than " + std::to_string(AnnotationLimit) + " auditAnnotations");
    }
    std::set<std::string> keys;
    for (std::size_t i = 0; i < spec.audit_annotations.size(); ++i) {
        const FieldPath path = FieldPath("spec.auditAnnotations").index(i);
        validate_annotation(spec.audit_annotations[i], policy.metadata.name, names, compiler, path, errors);
        if (!keys.insert(spec.audit_annotations[i].key).second) errors.duplicate(path / "key", spec.audit_annotations[i].key);
    }
}

void validate_status(const ValidatingAdmissionPolicy& policy, const ValidatingAdmissionPolicy&, FieldErrors& errors) {
    if (!policy.status.type_checking) return;
    const auto& warnings = policy.status.type_checking->expression_warnings;
    for (std::size_t i = 0; i < warnings.size(); ++i) {
        const FieldPath path = FieldPath("status.typeChecking.expressionWarnings").index(i);
        check_required(warnings[i].warning, path / "warning", errors);
        check_required(std::string(trim(warnings[i].field_ref)), path / "fieldRef", errors);
    }
}

// --- Mutating policies ---

void validate_patch(const std::string& expression, AdmissionNames names, const AdmissionCompiler& compiler, const cel::TypeRef& result,
                    const FieldPath& path, FieldErrors& errors) {
    const std::string trimmed(trim(expression));
    if (trimmed.empty()) return errors.required(path);
    check_expression(compiler.compile(trimmed, names, {result}), trimmed, path, errors);
}

void validate_mutation(const Mutation& mutation, AdmissionNames names, const AdmissionCompiler& compiler, const FieldPath& path,
                       FieldErrors& errors) {
    check_required_choice(mutation.patch_type, {"ApplyConfiguration", "JSONPatch"}, path / "patchType", errors);
    const auto validate_one = [&](const char* type, const char* field, const auto& patch, const cel::TypeRef& result) {
        const std::string when = std::string(" when patchType is ") + mutation.patch_type;
        if (mutation.patch_type != type) {
            if (patch) errors.invalid(path / field, std::string("{") + field + "}", "must not be specified" + when);
            return;
        }
        if (!patch) return errors.required(path / field, "must be specified" + when);
        validate_patch(patch->expression, names, compiler, result, path / field / "expression", errors);
    };
    if (mutation.patch_type != "ApplyConfiguration" && mutation.patch_type != "JSONPatch") return;
    validate_one("ApplyConfiguration", "applyConfiguration", mutation.apply_configuration, apply_configuration_type());
    validate_one("JSONPatch", "jsonPatch", mutation.json_patch, json_patch_list_type());
}

void validate_effects(const MutatingAdmissionPolicy& policy, FieldErrors& errors) {
    const auto& spec = policy.spec;
    const AdmissionNames names = names_of(spec);
    if (spec.match_constraints) check_mutable(spec.match_constraints->resource_rules, "spec.matchConstraints.resourceRules", errors);
    AdmissionCompiler compiler;
    validate_variables(spec.variables, names, compiler, "spec.variables", errors);
    compiler.allow_patches();
    if (spec.mutations.empty()) errors.required("spec.mutations", "mutations must contain at least one item");
    for (std::size_t i = 0; i < spec.mutations.size(); ++i)
        validate_mutation(spec.mutations[i], names, compiler, FieldPath("spec.mutations").index(i), errors);
    check_required_choice(spec.reinvocation_policy, {"IfNeeded", "Never"}, "spec.reinvocationPolicy", errors);
}

// --- Bindings ---

template <class Binding>
void default_binding(Binding& binding) {
    if (binding.spec.match_resources) default_match_resources(*binding.spec.match_resources);
}

void validate_param_ref(const ParamRef& reference, const FieldPath& path, FieldErrors& errors) {
    if (!reference.name.empty()) {
        invalid_all(errors, path / "name", reference.name, names::check_path_segment(reference.name));
        if (reference.selector) errors.forbidden(path / "name", "name and selector are mutually exclusive");
    }
    if (reference.selector) {
        validate_label_selector(*reference.selector, path / "selector", errors);
        if (!reference.name.empty()) errors.forbidden(path / "selector", "name and selector are mutually exclusive");
    }
    if (reference.name.empty() && !reference.selector) errors.required(path, "one of name or selector must be specified");
    check_required_choice(reference.parameter_not_found_action.value_or(""), {"Deny", "Allow"}, path / "parameterNotFoundAction", errors);
}

template <class Spec>
void validate_binding_spec(const Spec& spec, FieldErrors& errors) {
    check_required_format(spec.policy_name, names::check_dns1123_subdomain, "spec.policyName", errors);
    if (spec.param_ref) validate_param_ref(*spec.param_ref, "spec.paramRef", errors);
    if (spec.match_resources) validate_match_resources(*spec.match_resources, "spec.matchResources", errors);
}

void validate_actions(const std::vector<std::string>& actions, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        check_choice(actions[i], {"Audit", "Deny", "Warn"}, path.index(i), errors);
        if (!seen.insert(actions[i]).second) errors.duplicate(path.index(i), actions[i]);
    }
    if (seen.contains("Deny") && seen.contains("Warn")) {
        errors.invalid(path, list_of(actions),
                       "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
                       "headers serves no purpose)");
    }
    if (seen.empty()) errors.required(path, "at least one validation action is required");
}

void validate_validating_binding(const ValidatingAdmissionPolicyBinding& binding, FieldErrors& errors) {
    validate_binding_spec(binding.spec, errors);
    validate_actions(binding.spec.validation_actions, "spec.validationActions", errors);
}

void validate_mutating_binding(const MutatingAdmissionPolicyBinding& binding, FieldErrors& errors) {
    validate_binding_spec(binding.spec, errors);
    if (binding.spec.match_resources)
        check_mutable(binding.spec.match_resources->resource_rules, "spec.matchResources.resourceRules", errors);
}

template <class T>
Strategy policy_strategy(TypedStrategy<T> typed) {
    Strategy strategy = strategy_for<T>(typed);
    strategy.generation = Generation::OnSpecChange;
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace

Strategy validating_admission_policy_strategy() {
    return policy_strategy<ValidatingAdmissionPolicy>({.set_defaults = default_policy<ValidatingAdmissionPolicy>,
                                                       .validate = validate_policy<ValidatingAdmissionPolicy>,
                                                       .validate_update = validate_policy_update<ValidatingAdmissionPolicy>,
                                                       .validate_status_update = validate_status});
}
Strategy validating_admission_policy_binding_strategy() {
    return policy_strategy<ValidatingAdmissionPolicyBinding>(
        {.set_defaults = default_binding<ValidatingAdmissionPolicyBinding>, .validate = validate_validating_binding});
}
Strategy mutating_admission_policy_strategy() {
    return policy_strategy<MutatingAdmissionPolicy>({.set_defaults = default_policy<MutatingAdmissionPolicy>,
                                                     .validate = validate_policy<MutatingAdmissionPolicy>,
                                                     .validate_update = validate_policy_update<MutatingAdmissionPolicy>});
}
Strategy mutating_admission_policy_binding_strategy() {
    return policy_strategy<MutatingAdmissionPolicyBinding>(
        {.set_defaults = default_binding<MutatingAdmissionPolicyBinding>, .validate = validate_mutating_binding});
}

}  // namespace porthole::apiserver
