#include "apiserver/admission/policies/validation.h"

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using cel::Kind;

constexpr std::size_t LongestMessage = 5 * 1024;

/// A policy may give only reasons that have a code of their own (see upstream's reasonToCode).
Reason reason_of(const std::optional<std::string>& named) {
    if (named == "Forbidden") return Reason::Forbidden;
    if (named == "RequestEntityTooLarge") return Reason::RequestEntityTooLarge;
    return Reason::Invalid;
}

}  // namespace

CompiledValidation CompiledValidation::compile(const Policy& policy) {
    const AdmissionNames names{.params = policy.spec.param_kind.has_value()};
    AdmissionCompiler compiler;
    CompiledValidation compiled;
    for (const auto& variable : policy.spec.variables) compiler.add_variable(variable.name, variable.expression, names);
    compiled.fails_open_ = policy.spec.failure_policy.value_or("Fail") == "Ignore";
    compiled.conditions_ = compile_match_conditions(compiler, policy.spec.match_conditions, names);
    for (const auto& one : policy.spec.validations) {
        Validation validation{.expression = compiler.compile(one.expression, names, {cel::types::boolean()}),
                              .message = std::string(trim(one.message)),
                              .reason = reason_of(one.reason)};
        if (!one.message_expression.empty()) {
            validation.message_expression =
                compiler.compile(one.message_expression, {.params = names.params, .authorizer = false}, {cel::types::string()});
        }
        compiled.validations_.push_back(std::move(validation));
    }
    for (const auto& one : policy.spec.audit_annotations)
        compiled.annotations_.push_back(
            {one.key, compiler.compile(one.value_expression, names, {cel::types::string(), cel::types::null()})});
    compiled.variables_ = compiler.variables();
    return compiled;
}

PolicyVerdict CompiledValidation::evaluate(const AdmissionInput& input, AdmissionEvaluation::Attempt& attempt) const {
    CostBudget budget = attempt.budget(expression_costs::Policy);
    std::vector<ExpressionResult> results;
    {
        const AdmissionScope scope(input, variables_, budget);
        for (const Validation& validation : validations_) {
            auto result = apiserver::evaluate(validation.expression, scope.activation(), budget);
            if (!result) break;
            results.push_back(*std::move(result));
        }
    }
    if (budget.is_spent) {
        attempt.paid(budget, expression_costs::Policy);
        return failed(OutOfBudget);
    }
    // What the authorizer says of others is not for the texts that a user reads, also not through a variable.
    AdmissionInput without_authorizer = input;
    without_authorizer.authorizer = nullptr;
    const AdmissionScope message_scope(without_authorizer, variables_, budget);
    const MessageResults texts = messages(message_scope.activation(), budget);
    attempt.paid(budget, expression_costs::Policy);
    PolicyVerdict verdict;
    for (std::size_t i = 0; i < results.size(); ++i) verdict.decisions.push_back(decide(validations_[i], results[i], texts, i));

    CostBudget annotation_budget = attempt.budget(expression_costs::Policy);
    const AdmissionScope annotation_scope(without_authorizer, variables_, annotation_budget);
    auto made = annotations(annotation_scope.activation(), annotation_budget);
    attempt.paid(annotation_budget, expression_costs::Policy);
    if (!made) return failed(OutOfBudget);
    verdict.annotations = *std::move(made);
    return verdict;
}

CompiledValidation::MessageResults CompiledValidation::messages(const cel::Activation& activation, CostBudget& budget) const {
    MessageResults results{.texts = std::vector<std::string>(validations_.size())};
    for (std::size_t i = 0; i < validations_.size(); ++i) {
        if (!validations_[i].message_expression) continue;
        const auto result = apiserver::evaluate(*validations_[i].message_expression, activation, budget);
        if (!result) {
            results.is_spent = true;
            return results;
        }
        if (!result->error.empty() || !result->value.is(Kind::String)) continue;
        const std::string_view text = trim(result->value.as_text());
        if (text.size() <= LongestMessage && text.find('\n') == std::string_view::npos) results.texts[i] = text;
    }
    return results;
}

PolicyDecision CompiledValidation::decide(const Validation& validation, const ExpressionResult& result, const MessageResults& messages,
                                          std::size_t index) const {
    if (!result.error.empty()) return failure(result.error);
    if (messages.is_spent) return failure("failed messageExpression: " + OutOfBudget);
    if (result.value.is_true()) return {};
    std::string message = messages.texts[index];
    if (message.empty()) message = validation.message;
    if (message.empty()) message = "failed expression: " + std::string(trim(validation.expression.text()));
    return {.admits = false, .message = std::move(message), .reason = validation.reason};
}

std::optional<std::vector<PolicyAnnotation>> CompiledValidation::annotations(const cel::Activation& activation, CostBudget& budget) const {
    std::vector<PolicyAnnotation> made;
    for (const Annotation& annotation : annotations_) {
        const auto result = apiserver::evaluate(annotation.value, activation, budget);
        if (!result) return {};
        PolicyAnnotation one{.key = annotation.key};
        if (!result->error.empty()) {
            if (fails_open_) continue;
            one.error = result->error;
        } else if (result->value.is(Kind::String)) {
            one.value = trim(result->value.as_text());
            if (one.value.empty()) continue;
        } else if (result->value.is(Kind::Null)) {
            continue;
        } else {
            one.error = "valueExpression '" + annotation.value.text() +
                        "' resulted in unsupported return type: " + result->value.type()->to_string() +
                        ". Return type must be either string or null.";
        }
        made.push_back(std::move(one));
    }
    return made;
}

}  // namespace porthole::apiserver
