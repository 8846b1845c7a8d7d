#include <algorithm>

#include "api/certificates_v1.h"
#include "apiserver/admission/plugins.h"
#include "net/x509.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using api::certificates::v1::CertificateSigningRequest;

constexpr const char* ApiClientSigner = "kubernetes.io/kube-apiserver-client";

/// Beside the right to write a request's decision or certificate, its writer needs the right over its signer: `approve` or `sign` on
/// the resource `signers` of that name, or of all of the signer's domain ("example.com/*").
class CertificateRequests final : public AdmissionPlugin {
public:
    explicit CertificateRequests(Authorizer& authorizer) : authorizer_(authorizer) {}
    std::string_view name() const override { return "CertificateRequests"; }

    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.is("certificates.k8s.io", "certificatesigningrequests") || !attributes.object) co_return {};
        if (attributes.operation == AdmissionOperation::Create) co_return check_subject(attributes);
        if (attributes.subresource == "approval") co_return co_await check_right(attributes, "approve");
        if (attributes.subresource == "status" && is_signing(attributes)) co_return co_await check_right(attributes, "sign");
        co_return {};
    }

private:
    /// Whoever could ask for a certificate of the administrators' group would soon be one.
    static Result<void> check_subject(const AdmissionAttributes& attributes) {
        const auto& spec = attributes.object->view<CertificateSigningRequest>().spec;
        if (spec.signer_name != ApiClientSigner) return {};
        const auto parsed = net::parse_certificate_request(spec.request);
        if (!parsed) return {};  // validation says so
        const auto& groups = parsed->subject.organizations;
        if (std::ranges::find(groups, GroupMasters) == groups.end()) return {};
        return admission_forbidden(
            attributes, std::string("use of ") + ApiClientSigner + " signer with " + std::string(GroupMasters) + " group is not allowed");
    }

    static bool is_signing(const AdmissionAttributes& attributes) {
        const auto failed = [](const CertificateSigningRequest& request) {
            return objects::find_condition(request.status.conditions, "Failed") != nullptr;
        };
        const auto& now = attributes.object->view<CertificateSigningRequest>();
        const auto& before = attributes.old_object->view<CertificateSigningRequest>();
        return now.status.certificate != before.status.certificate || failed(now) != failed(before);
    }

    Task<> check_right(const AdmissionAttributes& attributes, std::string verb) {
        // The signer is the stored one: what the body says of it is not written.
        const std::string signer = attributes.old_object->view<CertificateSigningRequest>().spec.signer_name;
        for (const std::string& name : {signer, signer.substr(0, signer.find('/')) + "/*"}) {
            const AuthorizationAttributes question{.user = attributes.user,
                                                   .verb = verb,
                                                   .is_resource = true,
                                                   .group = "certificates.k8s.io",
                                                   .version = "*",
                                                   .resource = "signers",
                                                   .name = name};
            CO_TRY(const Decision decision, co_await authorizer_.authorize(question));
            if (decision.allowed()) co_return {};
        }
        co_return admission_forbidden(attributes, "user not permitted to " + verb + " requests with signerName \"" + signer + '"');
    }

    Authorizer& authorizer_;
};

}  // namespace

AdmissionPluginPtr certificate_requests(Authorizer& authorizer) { return std::make_unique<CertificateRequests>(authorizer); }

}  // namespace porthole::apiserver
