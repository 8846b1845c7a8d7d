#include "apiserver/admission/policies/policy_invocations.h"

#include "api/core_v1.h"
#include "apiserver/admission/webhook_rules.h"
#include "apiserver/request/status.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Namespace;

Error misconfigured(std::string why) { return Error(Reason::Invalid, std::move(why)); }

/// As upstream prints a kind: "rules.example.com/v1, Kind=Limit".
std::string kind_text(const PolicyRequest::ParamKind& kind) { return kind.api_version + ", Kind=" + kind.kind; }

}  // namespace

PolicyRequest::PolicyRequest(const AdmissionDependencies& given, const AdmissionAttributes& attributes)
    : given_(given),
      attributes_(attributes),
      served_(given.webhooks.versions ? given.webhooks.versions->served(attributes.kind) : std::vector<const schema::Kind*>{}),
      versions_(attributes, given.webhooks.versions) {}

Result<const schema::Kind*> PolicyRequest::match(const MatchResources* selection) const {
    static const MatchResources all;
    return match_resources(selection ? *selection : all, attributes_, served_, given_.reader);
}

Result<const schema::Value*> PolicyRequest::namespace_object() {
    if (attributes_.is("", "namespaces") || attributes_.namespace_.empty()) return nullptr;
    if (has_namespace_) return &namespace_;
    TRY(const auto found, given_.reader.find<Namespace>("", attributes_.namespace_));
    if (!found) return not_found(Namespace::kind(), attributes_.namespace_);
    Namespace shown = *found;
    shown.metadata.managed_fields.clear();
    shown.metadata.owner_references.clear();
    namespace_ = schema::to_value(shown);
    has_namespace_ = true;
    return &namespace_;
}

Result<void> PolicyRequest::check_param_kind(const ParamKind* kind) const {
    if (!kind || (given_.policies.parameters && given_.policies.parameters->find_kind(kind->api_version, kind->kind))) return {};
    return misconfigured("failed to find resource referenced by paramKind: '" + kind_text(*kind) + "'");
}

Result<std::vector<PolicyParameterPtr>> PolicyRequest::parameters(const ParamKind* kind, const ParamRef* reference) const {
    if (!kind || !reference) return std::vector<PolicyParameterPtr>{nullptr};
    TRY_VOID(check_param_kind(kind));
    const PolicyParameters& source = *given_.policies.parameters;
    const schema::Kind& found = *source.find_kind(kind->api_version, kind->kind);
    std::string namespace_;
    if (found.namespaced()) {
        namespace_ = !reference->namespace_.empty() ? reference->namespace_ : attributes_.request_namespace();
        if (namespace_.empty())
            return misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
    } else if (!reference->namespace_.empty()) {
        return misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
    }
    std::vector<PolicyParameterPtr> parameters;
    if (!reference->name.empty()) {
        TRY(auto one, source.find(found, namespace_, reference->name));
        if (one) parameters.push_back(std::move(one));
    } else if (reference->selector) {
        TRY(parameters, source.list(found, namespace_, LabelSelector::from(*reference->selector), MostParameters + 1));
        if (parameters.size() > MostParameters)
            return misconfigured("paramRef.selector selects more than " + std::to_string(MostParameters) + " params");
    }
    if (parameters.empty() && reference->parameter_not_found_action.value_or("") == "Deny")
        return misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction");
    return parameters;
}

AdmissionInput PolicyRequest::input(const VersionedRequest& request, const PolicyParameter* parameter,
                                    const schema::Value* namespace_object) const {
    AdmissionInput input = request.input(attributes_);
    input.params = parameter ? &parameter->object : nullptr;
    input.namespace_object = namespace_object;
    return input;
}

}  // namespace porthole::apiserver
