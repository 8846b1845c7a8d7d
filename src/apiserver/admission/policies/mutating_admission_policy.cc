#include "apiserver/admission/compiled_objects.h"
#include "apiserver/admission/policies/mutation.h"
#include "apiserver/admission/policies/policy_invocations.h"
#include "apiserver/admission/policies/policy_metrics.h"
#include "apiserver/admission/webhook_rules.h"
#include "base/strings.h"

/// The plugin that evaluates MutatingAdmissionPolicies (docs/design/admission_policies.md).
namespace porthole::apiserver {
namespace {

using MutatingPolicy = api::admissionregistration::v1::MutatingAdmissionPolicy;
using MutatingBinding = api::admissionregistration::v1::MutatingAdmissionPolicyBinding;
using BoundMutation = BoundPolicy<MutatingPolicy, MutatingBinding>;

/// A policy that changes the request's object, with one binding and one parameter.
struct Invocation {
    std::shared_ptr<const MutatingPolicy> policy;
    std::shared_ptr<const MutatingBinding> binding;
    std::shared_ptr<const CompiledMutation> compiled;
    PolicyParameterPtr parameter;
    const schema::Kind* kind = nullptr;  ///< in whose version it sees the request

    std::string key() const {
        const std::string name = parameter ? parameter->namespace_ + "/" + parameter->name : "";
        return policy->metadata.name + " " + binding->metadata.name + " " + name;
    }
};

/// One request on its way through the policies.
class PolicyMutation {
public:
    PolicyMutation(const AdmissionDependencies& given, AdmissionAttributes& attributes)
        : given_(given), attributes_(attributes), request_(given, attributes), evaluation_(given, attributes) {}

    Task<> select(const BoundMutation& bound, const std::shared_ptr<const CompiledMutation>& compiled) {
        const auto& spec = bound.policy->spec;
        const auto* const param_kind = spec.param_kind ? &*spec.param_kind : nullptr;
        const auto kind = request_.match(spec.match_constraints ? &*spec.match_constraints : nullptr);
        if (kind && !*kind) co_return {};
        const auto checked = kind ? request_.check_param_kind(param_kind) : Result<void>();
        if (!kind || !checked) {
            const std::string why = kind ? checked.error().message : kind.error().message;
            fail_policy(*bound.policy, *compiled, why);
            co_return {};
        }
        for (const auto& binding : bound.bindings) {
            const auto& selection = binding->spec.match_resources;
            const auto matched = request_.match(selection ? &*selection : nullptr);
            if (matched && !*matched) continue;
            if (matched) {
                CO_TRY(const VersionedRequest* const seen, co_await seen_by(*bound.policy, *compiled, **kind));
                if (!seen) continue;
            }
            auto parameters = matched ? request_.parameters(param_kind, binding->spec.param_ref ? &*binding->spec.param_ref : nullptr)
                                      : Result<std::vector<PolicyParameterPtr>>(matched.error());
            if (!parameters) {
                fail(*compiled, subject(*bound.policy, *binding), "failed to configure binding: " + parameters.error().message,
                     Reason::Forbidden);
                continue;
            }
            for (PolicyParameterPtr& parameter : *parameters)
                invocations_.push_back({bound.policy, binding, compiled, std::move(parameter), *kind});
        }
        co_return {};
    }

    Task<> mutate() {
        Invocations& state = attributes_.reinvocation.policies;
        if (attributes_.reinvocation.running && !(state.left == attributes_.object->tree())) state.invoke_again();
        for (const Invocation& invocation : invocations_) CO_TRY_VOID(co_await invoke(invocation));
        if (!state.invoked.empty()) state.left = attributes_.object->tree();
        if (problems_.empty()) co_return {};
        Error error = admission_forbidden(attributes_, "");
        error.message = problems_.front().message;
        // As upstream, the code stays that of Forbidden.
        error.details->code = http_code(Reason::Forbidden);
        error.reason = problems_.front().reason;
        for (const Problem& problem : problems_) error.details->causes.push_back({"", problem.message, ""});
        co_return error;
    }

private:
    struct Problem {
        std::string message;
        Reason reason;
    };
    static std::string subject(const MutatingPolicy& policy, const MutatingBinding& binding) {
        return "policy '" + policy.metadata.name + "' with binding '" + binding.metadata.name + "'";
    }
    void fail(const CompiledMutation& compiled, const std::string& who, const std::string& why, Reason reason) {
        if (!compiled.fails_open()) problems_.push_back({who + " denied request: " + why, reason});
    }

    void fail_policy(const MutatingPolicy& policy, const CompiledMutation& compiled, const std::string& why) {
        fail(compiled, "policy " + quote(policy.metadata.name), "failed to configure policy: " + why, Reason::Forbidden);
    }

    /// Null where the request cannot be had in that version, which counts by the failure policy.
    Task<const VersionedRequest*> seen_by(const MutatingPolicy& policy, const CompiledMutation& compiled, const schema::Kind& kind) {
        auto seen = co_await request_.versions().as(kind);
        if (seen || is_cancelled(seen)) co_return seen;
        fail_policy(policy, compiled, seen.error().message);
        co_return nullptr;
    }

    Task<> invoke(const Invocation& invocation) {
        Invocations& state = attributes_.reinvocation.policies;
        const CompiledMutation& compiled = *invocation.compiled;
        CO_TRY(const bool meets, co_await meets_conditions(invocation));
        if (!meets || (attributes_.reinvocation.running && !state.again.contains(invocation.key()))) co_return {};
        bool changed = false;
        for (std::size_t i = 0; i < compiled.count(); ++i) {
            const MonotonicTime begun = given_.loop.now();
            const auto mutated = co_await mutate(invocation, i);
            const std::string error = mutated ? "" : mutated.error().message;
            count(invocation, error, given_.loop.now() - begun);
            if (!mutated && mutated.error().reason != Reason::Invalid) co_return mutated.error();
            if (!mutated) fail(compiled, subject(*invocation.policy, *invocation.binding), error, Reason::Invalid);
            changed = changed || (mutated && *mutated);
        }
        if (changed) {
            attributes_.reinvocation.changed = true;
            state.invoke_again();
        }
        if (compiled.wants_changes()) state.invoked.insert(invocation.key());
        co_return {};
    }

    Task<bool> meets_conditions(const Invocation& invocation) {
        const CompiledMutation& compiled = *invocation.compiled;
        CO_TRY(const schema::Value* const namespace_object, request_.namespace_object());
        CO_TRY(const VersionedRequest* const seen, co_await seen_by(*invocation.policy, compiled, *invocation.kind));
        if (!seen) co_return false;
        const AdmissionInput input = request_.input(*seen, invocation.parameter.get(), namespace_object);
        // The type is upstream's word for both kinds of policies.
        CO_TRY(const MatchConditions::Outcome met,
               co_await evaluation_.meet(
                   compiled.match_conditions(), compiled.variables(), input,
                   {.name = invocation.policy->metadata.name, .kind = "policy", .type = "validate", .fails_open = compiled.fails_open()}));
        using Kind = MatchConditions::Outcome::Kind;
        if (met.kind == Kind::Failed) fail(compiled, subject(*invocation.policy, *invocation.binding), met.error, Reason::Invalid);
        co_return met.kind == Kind::Matches;
    }

    /// Whether the object was changed. Error: Invalid where the failure policy decides.
    Task<bool> mutate(const Invocation& invocation, std::size_t index) {
        CO_TRY(const schema::Value* const namespace_object, request_.namespace_object());
        auto in_version = co_await request_.versions().as(*invocation.kind);
        if (is_cancelled(in_version)) co_return std::move(in_version).error();
        if (!in_version) co_return Error(Reason::Invalid, "failed to convert object version: " + in_version.error().message);
        const VersionedRequest& seen = **in_version;
        CompiledMutation::Patch patch;
        CO_TRY_VOID(co_await evaluation_.run([&](AdmissionEvaluation::Attempt& attempt) {
            AdmissionInput input = request_.input(seen, invocation.parameter.get(), namespace_object);
            input.authorizer = &attempt.authorizer;
            patch = invocation.compiled->evaluate(index, input, attempt);
        }));
        if (!patch.error.empty()) co_return Error(Reason::Invalid, patch.error);
        const schema::Kind& kind = seen.object->kind();
        CO_TRY(auto tree, invocation.compiled->apply(index, kind, seen.object->tree(), std::move(patch.tree)));
        ApiObject object(kind, std::move(tree));
        if (const KindVersions* versions = given_.webhooks.versions; versions && &attributes_.object->kind() == &attributes_.kind) {
            CO_TRY(object, co_await versions->convert(std::move(object), attributes_.kind));
            versions->set_defaults(object);
        }
        if (object.tree() == attributes_.object->tree()) co_return false;
        *attributes_.object = std::move(object);
        request_.versions().forget();
        co_return true;
    }

    void count(const Invocation& invocation, const std::string& error, Duration taken) {
        if (!given_.policies.metrics) return;
        given_.policies.metrics->add_mutation({.policy = invocation.policy->metadata.name,
                                               .binding = invocation.binding->metadata.name,
                                               .error_type = policy_error_type(error),
                                               .enforcement = "",
                                               .taken = taken});
    }

    const AdmissionDependencies& given_;
    AdmissionAttributes& attributes_;
    PolicyRequest request_;
    AdmissionEvaluation evaluation_;
    std::vector<Invocation> invocations_;
    std::vector<Problem> problems_;
};

class MutatingAdmissionPolicyPlugin final : public AdmissionPlugin {
public:
    explicit MutatingAdmissionPolicyPlugin(const AdmissionDependencies& given) : given_(given) {}
    std::string_view name() const override { return "MutatingAdmissionPolicy"; }

    /// By the names of policies, bindings and parameters, all of them chosen before the first changes the object.
    Task<> admit(AdmissionAttributes& attributes) override {
        const AdmissionPolicies& policies = given_.policies;
        if (!attributes.object || !policies.mutating || policies.mutating->empty() || is_exempt_from_policies(attributes)) co_return {};
        const auto bound = bound_policies(policies.mutating, policies.mutating_bindings);
        if (bound.empty()) co_return {};
        PolicyMutation mutation(given_, attributes);
        for (const BoundMutation& one : bound)
            CO_TRY_VOID(co_await mutation.select(one, compiled_.of(one.policy->metadata.name, one.policy, *policies.mutating)));
        co_return co_await mutation.mutate();
    }

private:
    const AdmissionDependencies given_;
    CompiledObjects<MutatingPolicy, CompiledMutation> compiled_{CompiledMutation::compile};
};

}  // namespace

AdmissionPluginPtr make_mutating_admission_policy(const AdmissionDependencies& given) {
    return std::make_unique<MutatingAdmissionPolicyPlugin>(given);
}

}  // namespace porthole::apiserver
