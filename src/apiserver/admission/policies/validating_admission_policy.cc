#include <algorithm>

#include "apiserver/admission/compiled_objects.h"
#include "apiserver/admission/policies/policy_invocations.h"
#include "apiserver/admission/policies/policy_metrics.h"
#include "apiserver/admission/policies/validation.h"
#include "apiserver/admission/webhook_rules.h"
#include "base/strings.h"
#include "schema/json/json.h"

/// The plugin that evaluates ValidatingAdmissionPolicies (docs/design/admission_policies.md).
namespace porthole::apiserver {
namespace {

using ValidatingPolicy = api::admissionregistration::v1::ValidatingAdmissionPolicy;
using ValidatingBinding = api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
using schema::Value;

constexpr std::size_t LongestAnnotation = 10 * 1024;

/// Why a request is refused.
struct Denial {
    std::string policy, binding;  ///< binding is "" where the policy itself is wrong
    std::string message;
    Reason reason = Reason::Invalid;
};

Error denied(const AdmissionAttributes& attributes, const Denial& denial) {
    const std::string binding = denial.binding.empty() ? "" : " with binding '" + denial.binding + "'";
    const std::string message = "ValidatingAdmissionPolicy '" + denial.policy + "'" + binding + " denied request: " + denial.message;
    Error error = admission_forbidden(attributes, message);
    error.reason = denial.reason;
    error.details->causes.push_back({"", message, ""});
    return error;
}

/// Annotations of one policy by key: bindings and parameters may have made several values.
using Annotations = std::map<std::string, std::vector<std::string>>;

void add_annotation(Annotations& annotations, const PolicyAnnotation& made) {
    std::vector<std::string>& values = annotations[made.key];
    std::string value = made.value.substr(0, LongestAnnotation);
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

/// One request on its way through the policies.
class PolicyValidation {
public:
    PolicyValidation(const AdmissionDependencies& given, const AdmissionAttributes& attributes)
        : given_(given), attributes_(attributes), request_(given, attributes), evaluation_(given, attributes) {}

    Task<> validate(const BoundPolicy<ValidatingPolicy, ValidatingBinding>& bound, const CompiledValidation& compiled) {
        const auto& spec = bound.policy->spec;
        const std::string& policy = bound.policy->metadata.name;
        const auto misconfigured = [&](const std::string& binding, const std::string& why) {
            if (compiled.fails_open()) return;
            denials_.push_back(
                {policy, binding, "failed to configure " + std::string(binding.empty() ? "policy" : "binding") + ": " + why});
        };
        const auto kind = request_.match(spec.match_constraints ? &*spec.match_constraints : nullptr);
        if (kind && !*kind) co_return {};
        const auto checked = kind ? request_.check_param_kind(spec.param_kind ? &*spec.param_kind : nullptr) : Result<void>();
        if (!kind || !checked) {
            misconfigured("", kind ? checked.error().message : kind.error().message);
            co_return {};
        }
        annotations_.clear();
        for (const auto& binding : bound.bindings) {
            const auto parameters = parameters_of(*bound.policy, *binding);
            if (!parameters) {
                misconfigured(binding->metadata.name, parameters.error().message);
                continue;
            }
            if (parameters->empty()) continue;
            const auto request = co_await request_.versions().as(**kind);
            if (is_cancelled(request)) co_return request.error();
            if (!request) {
                misconfigured(binding->metadata.name, "failed to convert object version: " + request.error().message);
                continue;
            }
            CO_TRY_VOID(co_await validate(*bound.policy, *binding, compiled, **request, *parameters));
        }
        for (const auto& [key, values] : annotations_) attributes_.audit_annotations.emplace(policy + "/" + key, join(values, ", "));
        co_return {};
    }

    Result<void> outcome() const {
        if (denials_.empty()) return {};
        return denied(attributes_, denials_.front());
    }

private:
    /// None where the binding does not select the request.
    Result<std::vector<PolicyParameterPtr>> parameters_of(const ValidatingPolicy& policy, const ValidatingBinding& binding) const {
        TRY(const schema::Kind* const matched, request_.match(binding.spec.match_resources ? &*binding.spec.match_resources : nullptr));
        if (!matched) return std::vector<PolicyParameterPtr>();
        return request_.parameters(policy.spec.param_kind ? &*policy.spec.param_kind : nullptr,
                                   binding.spec.param_ref ? &*binding.spec.param_ref : nullptr);
    }

    Task<> validate(const ValidatingPolicy& policy, const ValidatingBinding& binding, const CompiledValidation& compiled,
                    const VersionedRequest& request, const std::vector<PolicyParameterPtr>& parameters) {
        CO_TRY(const Value* const namespace_object, request_.namespace_object());
        using Kind = MatchConditions::Outcome::Kind;
        for (const PolicyParameterPtr& parameter : parameters) {
            const AdmissionInput input = request_.input(request, parameter.get(), namespace_object);
            const MonotonicTime begun = given_.loop.now();
            CO_TRY(const MatchConditions::Outcome met,
                   co_await evaluation_.meet(
                       compiled.match_conditions(), compiled.variables(), input,
                       {.name = policy.metadata.name, .kind = "policy", .type = "validate", .fails_open = compiled.fails_open()}));
            if (met.kind == Kind::Excluded) continue;
            PolicyVerdict verdict;
            if (met.kind == Kind::Failed) {
                verdict = compiled.failed(met.error);
            } else {
                CO_TRY_VOID(co_await evaluation_.run([&](AdmissionEvaluation::Attempt& attempt) {
                    AdmissionInput asked = input;
                    asked.authorizer = &attempt.authorizer;
                    verdict = compiled.evaluate(asked, attempt);
                }));
            }
            enforce(policy, binding, verdict, given_.loop.now() - begun);
        }
        co_return {};
    }

    void enforce(const ValidatingPolicy& policy, const ValidatingBinding& binding, const PolicyVerdict& verdict, Duration taken) {
        for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
            const PolicyDecision& decision = verdict.decisions[i];
            PolicyCheck check{.policy = policy.metadata.name,
                              .binding = binding.metadata.name,
                              .error_type = decision.is_error ? policy_error_type(decision.message) : "invalid_error",
                              .taken = taken};
            if (decision.admits) {
                if (decision.is_error) count(std::move(check), "allow");
                continue;
            }
            for (const std::string& action : binding.spec.validation_actions) {
                if (action == "Deny") {
                    denials_.push_back({policy.metadata.name, binding.metadata.name, decision.message, decision.reason});
                    count(check, "deny");
                } else if (action == "Audit") {
                    annotate_failure(binding, i, decision);
                    count(check, "audit");
                } else if (action == "Warn") {
                    attributes_.warnings.push_back("Validation failed for ValidatingAdmissionPolicy '" + policy.metadata.name +
                                                   "' with binding '" + binding.metadata.name + "': " + decision.message);
                    count(check, "warn");
                }
            }
        }
        for (const PolicyAnnotation& annotation : verdict.annotations) {
            if (annotation.error.empty()) {
                add_annotation(annotations_, annotation);
                continue;
            }
            denials_.push_back({policy.metadata.name, binding.metadata.name, annotation.error});
            count({.policy = policy.metadata.name,
                   .binding = binding.metadata.name,
                   .error_type = policy_error_type(annotation.error),
                   .taken = taken},
                  "deny");
        }
    }

    /// The first failure of a request that is audited is kept.
    void annotate_failure(const ValidatingBinding& binding, std::size_t index, const PolicyDecision& decision) {
        Value actions = Value::array();
        for (const std::string& action : binding.spec.validation_actions) actions.as_array().emplace_back(action);
        const Value failure = Value::object({{"message", decision.message},
                                             {"policy", binding.spec.policy_name},
                                             {"binding", binding.metadata.name},
                                             {"expressionIndex", index},
                                             {"validationActions", std::move(actions)}});
        attributes_.audit_annotations.emplace("validation.policy.admission.k8s.io/validation_failure",
                                              schema::to_json(Value::array({failure})));
    }

    void count(PolicyCheck check, const char* enforcement) {
        check.enforcement = enforcement;
        if (given_.policies.metrics) given_.policies.metrics->add_validation(std::move(check));
    }

    const AdmissionDependencies& given_;
    const AdmissionAttributes& attributes_;
    PolicyRequest request_;
    AdmissionEvaluation evaluation_;
    std::vector<Denial> denials_;
    Annotations annotations_;  ///< of the policy in progress
};

class ValidatingAdmissionPolicyPlugin final : public AdmissionPlugin {
public:
    explicit ValidatingAdmissionPolicyPlugin(const AdmissionDependencies& given) : given_(given) {}
    std::string_view name() const override { return "ValidatingAdmissionPolicy"; }

    /// By the names of the policies. Of several refusals the client is told the first.
    Task<> validate(const AdmissionAttributes& attributes) override {
        const AdmissionPolicies& policies = given_.policies;
        if (!policies.validating || policies.validating->empty() || is_exempt_from_policies(attributes)) co_return {};
        const auto bound = bound_policies(policies.validating, policies.validating_bindings);
        if (bound.empty()) co_return {};
        PolicyValidation validation(given_, attributes);
        for (const auto& one : bound) {
            const auto compiled = compiled_.of(one.policy->metadata.name, one.policy, *policies.validating);
            CO_TRY_VOID(co_await validation.validate(one, *compiled));
        }
        co_return validation.outcome();
    }

private:
    const AdmissionDependencies given_;
    CompiledObjects<ValidatingPolicy, CompiledValidation> compiled_{CompiledValidation::compile};
};

}  // namespace

AdmissionPluginPtr make_validating_admission_policy(const AdmissionDependencies& given) {
    return std::make_unique<ValidatingAdmissionPolicyPlugin>(given);
}

}  // namespace porthole::apiserver
