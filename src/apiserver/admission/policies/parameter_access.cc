#include "api/admissionregistration_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/policy_parameters.h"
#include "apiserver/validation/field_errors.h"
#include "base/strings.h"

/// What a policy's messages tell of its parameters, who wrote the policy could have read: upstream's strategies of the kinds ask for that.
namespace porthole::apiserver {
namespace {

namespace registration = api::admissionregistration::v1;

/// As upstream prints a user: "&{jane  [system:authenticated] map[]}".
std::string user_text(const User& user) {
    const std::string extra = join(user.extra, " ", [](const auto& one) { return one.first + ":[" + join(one.second, " ") + "]"; });
    return "&{" + user.name + " " + user.uid + " [" + join(user.groups, " ") + "] map[" + extra + "]}";
}

class PolicyParameterAccess final : public AdmissionPlugin {
public:
    explicit PolicyParameterAccess(const AdmissionDependencies& given) : given_(given) {}
    std::string_view name() const override { return "PolicyParameterAccess"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.kind.group == "admissionregistration.k8s.io"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.object || !attributes.subresource.empty()) co_return {};
        if (attributes.user.in_group(GroupMasters)) co_return {};
        const ApiObject& object = *attributes.object;
        if (object.is<registration::ValidatingAdmissionPolicy>())
            co_return co_await check_policy<registration::ValidatingAdmissionPolicy>(attributes);
        if (object.is<registration::MutatingAdmissionPolicy>())
            co_return co_await check_policy<registration::MutatingAdmissionPolicy>(attributes);
        if (object.is<registration::ValidatingAdmissionPolicyBinding>())
            co_return co_await check_binding<registration::ValidatingAdmissionPolicyBinding>(attributes, given_.policies.validating);
        if (object.is<registration::MutatingAdmissionPolicyBinding>())
            co_return co_await check_binding<registration::MutatingAdmissionPolicyBinding>(attributes, given_.policies.mutating);
        co_return {};
    }

private:
    template <class Policy>
    Task<> check_policy(const AdmissionAttributes& attributes) {
        const auto& kind = attributes.object->view<Policy>().spec.param_kind;
        if (!kind || (attributes.old_object && attributes.old_object->view<Policy>().spec.param_kind == kind)) co_return {};
        AuthorizationAttributes asked = question(attributes.user, &*kind);
        asked.verb = "get";
        asked.namespace_ = asked.name = "*";
        co_return co_await require(attributes, std::move(asked), "spec.paramKind",
                                   "must have \"get\" permission on all objects of the referenced paramKind (kind=" + kind->kind +
                                       ", apiVersion=" + kind->api_version + ")");
    }

    template <class Binding, class Policy>
    Task<> check_binding(const AdmissionAttributes& attributes, const ObjectMap<Policy>* policies) {
        const auto& spec = attributes.object->view<Binding>().spec;
        if (!spec.param_ref) co_return {};
        if (attributes.old_object) {
            const auto& old = attributes.old_object->view<Binding>().spec;
            if (old.param_ref == spec.param_ref && old.policy_name == spec.policy_name) co_return {};
        }
        const auto found = policies ? policies->find(spec.policy_name) : typename ObjectMap<Policy>::const_iterator();
        const bool is_known = policies && found != policies->end() && found->second->spec.param_kind;
        AuthorizationAttributes asked = question(attributes.user, is_known ? &*found->second->spec.param_kind : nullptr);
        asked.verb = spec.param_ref->name.empty() ? "list" : "get";
        asked.namespace_ = spec.param_ref->namespace_;
        asked.name = spec.param_ref->name;
        const std::string what = "does not have " + quote(asked.verb) + " permission on the object referenced by paramRef";
        co_return co_await require(attributes, std::move(asked), "spec.paramRef", what);
    }

    /// About the kind's resource; about all where it is not known.
    AuthorizationAttributes question(const User& user, const registration::ParamKind* kind) const {
        AuthorizationAttributes asked{.user = user, .is_resource = true, .group = "*", .version = "*", .resource = "*"};
        if (!kind) return asked;
        const auto [group, version] = schema::split_api_version(kind->api_version);
        asked.group = group;
        asked.version = version;
        const schema::Kind* const found =
            given_.policies.parameters ? given_.policies.parameters->find_kind(kind->api_version, kind->kind) : nullptr;
        if (found) asked.resource = found->plural;
        return asked;
    }

    Task<> require(const AdmissionAttributes& attributes, AuthorizationAttributes asked, const char* field, std::string what) {
        const auto decision = co_await given_.authorizer.authorize(asked);
        if (is_cancelled(decision)) co_return decision.error();
        if (decision && decision->allowed()) co_return {};
        FieldErrors errors;
        errors.forbidden(field, "user " + user_text(attributes.user) + " " + what);
        co_return invalid(attributes.kind, attributes.name, errors);
    }

    const AdmissionDependencies given_;
};

}  // namespace

AdmissionPluginPtr make_policy_parameter_access(const AdmissionDependencies& given) {
    return std::make_unique<PolicyParameterAccess>(given);
}

}  // namespace porthole::apiserver
