#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission_evaluation.h"
#include "apiserver/expressions/match_conditions.h"

namespace porthole::apiserver {

/// The result of one expression of a validating policy.
struct PolicyDecision {
    bool admits = true;
    std::string message;  ///< why not; also of an error that the failure policy ignores
    bool is_error = false;
    Reason reason = Reason::Invalid;
};

/// An audit annotation of a policy.
struct PolicyAnnotation {
    std::string key, value;
    std::string error;  ///< instead of a value: the request is denied
};

/// The result of a validating policy for a request, with one parameter.
struct PolicyVerdict {
    std::vector<PolicyDecision> decisions;  ///< as the policy's validations; or one, of an error that concerns all
    std::vector<PolicyAnnotation> annotations = {};
};

/// A ValidatingAdmissionPolicy with compiled expressions. Immutable.
class CompiledValidation {
public:
    using Policy = api::admissionregistration::v1::ValidatingAdmissionPolicy;
    static CompiledValidation compile(const Policy& policy);

    bool fails_open() const { return fails_open_; }
    const MatchConditions& match_conditions() const { return conditions_; }
    const NamedExpressions& variables() const { return variables_; }
    /// Of an error that concerns all, as the failure policy has it.
    PolicyVerdict failed(std::string message) const { return {.decisions = {failure(std::move(message))}}; }
    /// Of a request that meets the match conditions. Safe on any thread.
    PolicyVerdict evaluate(const AdmissionInput& input, AdmissionEvaluation::Attempt& attempt) const;

private:
    struct Validation {
        Expression expression;
        std::optional<Expression> message_expression;
        std::string message;  ///< trimmed
        Reason reason = Reason::Invalid;
    };
    struct Annotation {
        std::string key;
        Expression value;
    };
    struct MessageResults {
        std::vector<std::string> texts;  ///< as validations_; "" if there is none
        bool is_spent = false;
    };

    PolicyDecision failure(std::string message) const { return {.admits = fails_open_, .message = std::move(message), .is_error = true}; }
    MessageResults messages(const cel::Activation& activation, CostBudget& budget) const;
    PolicyDecision decide(const Validation& validation, const ExpressionResult& result, const MessageResults& messages,
                          std::size_t index) const;
    std::optional<std::vector<PolicyAnnotation>> annotations(const cel::Activation& activation, CostBudget& budget) const;

    bool fails_open_ = false;
    NamedExpressions variables_;
    MatchConditions conditions_;
    std::vector<Validation> validations_;
    std::vector<Annotation> annotations_;
};

}  // namespace porthole::apiserver
