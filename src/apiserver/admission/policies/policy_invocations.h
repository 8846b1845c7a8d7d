#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission_evaluation.h"
#include "apiserver/admission/policy_parameters.h"
#include "apiserver/admission/versioned_requests.h"

namespace porthole::apiserver {

/// A policy with its bindings, kept alive while a request is processed.
template <class Policy, class Binding>
struct BoundPolicy {
    std::shared_ptr<const Policy> policy;
    std::vector<std::shared_ptr<const Binding>> bindings;  ///< by name
};

/// The policies that have bindings, by name.
template <class Policy, class Binding>
std::vector<BoundPolicy<Policy, Binding>> bound_policies(const ObjectMap<Policy>* policies, const ObjectMap<Binding>* bindings) {
    std::vector<BoundPolicy<Policy, Binding>> bound;
    if (!policies || !bindings || policies->empty()) return bound;
    std::map<std::string_view, std::vector<std::shared_ptr<const Binding>>> by_policy;
    for (const auto& [name, binding] : *bindings) by_policy[binding->spec.policy_name].push_back(binding);
    for (auto& [name, list] : by_policy)
        if (const auto found = policies->find(name); found != policies->end()) bound.push_back({found->second, std::move(list)});
    return bound;
}

/// The data of a request that all policies share: the kinds that it can be converted to, its namespace, its parameters.
class PolicyRequest {
public:
    using MatchResources = api::admissionregistration::v1::MatchResources;
    using ParamKind = api::admissionregistration::v1::ParamKind;
    using ParamRef = api::admissionregistration::v1::ParamRef;

    PolicyRequest(const AdmissionDependencies& given, const AdmissionAttributes& attributes);

    /// The version in which a policy or binding sees the request, or null if it does not match. Error: that of match_resources().
    Result<const schema::Kind*> match(const MatchResources* selection) const;
    VersionedRequests& versions() { return versions_; }
    /// The namespace of the request, as expressions see it; null for a cluster-scoped one. Error: NotFound.
    Result<const schema::Value*> namespace_object();
    /// The maximum number of parameters that a binding may select: users can create any number.
    static constexpr std::size_t MostParameters = 100;
    /// The parameters with which a binding evaluates the policy, once each: null for an evaluation without one. Empty if the binding skips
    /// the policy because no parameter exists. Errors have upstream's message, and mean that policy or binding are misconfigured; so are
    /// more than MostParameters.
    Result<std::vector<PolicyParameterPtr>> parameters(const ParamKind* kind, const ParamRef* reference) const;
    /// The served kind that a policy's paramKind names. Error: it is not served.
    Result<void> check_param_kind(const ParamKind* kind) const;

    /// Without an authorizer.
    AdmissionInput input(const VersionedRequest& request, const PolicyParameter* parameter, const schema::Value* namespace_object) const;

private:
    const AdmissionDependencies& given_;
    const AdmissionAttributes& attributes_;
    const std::vector<const schema::Kind*> served_;
    VersionedRequests versions_;
    bool has_namespace_ = false;  ///< namespace_ has been looked up
    schema::Value namespace_;
};

}  // namespace porthole::apiserver
