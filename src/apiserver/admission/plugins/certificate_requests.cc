#include <algorithm>

#include "api/certificates_v1.h"
#include "api/certificates_v1beta1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/validation/field_errors.h"
#include "base/strings.h"
#include "net/tls/x509.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using api::certificates::v1::CertificateSigningRequest;
using api::certificates::v1beta1::ClusterTrustBundle;
using api::certificates::v1beta1::PodCertificateRequest;

constexpr const char* ApiClientSigner = "kubernetes.io/kube-apiserver-client";

bool is_certificate_request(const AdmissionAttributes& attributes) {
    return attributes.is("certificates.k8s.io", "certificatesigningrequests") && attributes.object;
}

/// The right `verb` over a signer: on the resource `signers` of that name, or of all of the signer's domain ("example.com/*").
Task<bool> may(Authorizer& authorizer, const User& user, std::string verb, std::string signer) {
    for (const std::string& name : {signer, signer.substr(0, signer.find('/')) + "/*"}) {
        const AuthorizationAttributes question{.user = user,
                                               .verb = verb,
                                               .is_resource = true,
                                               .group = "certificates.k8s.io",
                                               .version = "*",
                                               .resource = "signers",
                                               .name = name};
        CO_TRY(const Decision decision, co_await authorizer.authorize(question));
        if (decision.allowed()) co_return true;
    }
    co_return false;
}

/// In addition to the right to write a request's decision or certificate, its writer needs the right over its signer.
Task<> check_right(Authorizer& authorizer, const AdmissionAttributes& attributes, std::string verb) {
    // The signer is the stored one: what the body says of it is not written.
    const std::string signer = attributes.old_object->view<CertificateSigningRequest>().spec.signer_name;
    CO_TRY(const bool allowed, co_await may(authorizer, attributes.user, verb, signer));
    if (allowed) co_return {};
    co_return admission_forbidden(attributes, "user not permitted to " + verb + " requests with signerName \"" + signer + '"');
}

class CertificateApproval final : public AdmissionPlugin {
public:
    explicit CertificateApproval(Authorizer& authorizer) : authorizer_(authorizer) {}
    std::string_view name() const override { return "CertificateApproval"; }
    bool handles(const AdmissionAttributes& attributes) const override { return is_certificate_request(attributes); }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (attributes.subresource != "approval") co_return {};
        co_return co_await check_right(authorizer_, attributes, "approve");
    }

private:
    Authorizer& authorizer_;
};

class CertificateSigning final : public AdmissionPlugin {
public:
    explicit CertificateSigning(Authorizer& authorizer) : authorizer_(authorizer) {}
    std::string_view name() const override { return "CertificateSigning"; }
    bool handles(const AdmissionAttributes& attributes) const override { return is_certificate_request(attributes); }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (attributes.subresource != "status" || !is_signing(attributes)) co_return {};
        co_return co_await check_right(authorizer_, attributes, "sign");
    }

private:
    static bool is_signing(const AdmissionAttributes& attributes) {
        const auto failed = [](const CertificateSigningRequest& request) {
            return objects::find_condition(request.status.conditions, "Failed") != nullptr;
        };
        const auto& now = attributes.object->view<CertificateSigningRequest>();
        const auto& before = attributes.old_object->view<CertificateSigningRequest>();
        return now.status.certificate != before.status.certificate || failed(now) != failed(before);
    }

    Authorizer& authorizer_;
};

class PodCertificateSigning final : public AdmissionPlugin {
public:
    explicit PodCertificateSigning(Authorizer& authorizer) : authorizer_(authorizer) {}
    std::string_view name() const override { return "PodCertificateSigning"; }
    bool handles(const AdmissionAttributes& attributes) const override {
        return attributes.is("certificates.k8s.io", "podcertificaterequests");
    }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (attributes.subresource != "status") co_return {};
        const auto& now = attributes.object->view<PodCertificateRequest>();
        const auto& before = attributes.old_object->view<PodCertificateRequest>();
        if (now.status.certificate_chain == before.status.certificate_chain) co_return {};
        CO_TRY(const bool allowed, co_await may(authorizer_, attributes.user, "sign", before.spec.signer_name));
        if (allowed) co_return {};
        FieldErrors errors;  // as Kubernetes, whose validation asks
        errors.forbidden("spec.signerName", "User " + quote(attributes.user.name) + " is not permitted to \"sign\" for signer " +
                                                quote(before.spec.signer_name));
        co_return invalid(attributes.kind, attributes.name, errors);
    }

private:
    Authorizer& authorizer_;
};

class ClusterTrustBundleAttest final : public AdmissionPlugin {
public:
    explicit ClusterTrustBundleAttest(Authorizer& authorizer) : authorizer_(authorizer) {}
    std::string_view name() const override { return "ClusterTrustBundleAttest"; }
    bool handles(const AdmissionAttributes& attributes) const override {
        return attributes.is("certificates.k8s.io", "clustertrustbundles");
    }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!attributes.object) co_return {};
        const auto& bundle = attributes.object->view<ClusterTrustBundle>();
        const std::string& signer = bundle.spec.signer_name;
        if (signer.empty()) co_return {};
        if (attributes.operation == AdmissionOperation::Update && is_same(bundle, attributes.old_object->view<ClusterTrustBundle>()))
            co_return {};
        CO_TRY(const bool allowed, co_await may(authorizer_, attributes.user, "attest", signer));
        if (allowed) co_return {};
        co_return admission_forbidden(attributes, "user not permitted to attest for signerName \"" + signer + '"');
    }

private:
    /// Apart from what the garbage collector changes.
    static bool is_same(ClusterTrustBundle now, ClusterTrustBundle before) {
        for (ClusterTrustBundle* one : {&now, &before}) {
            one->metadata.owner_references = {};
            one->metadata.finalizers = {};
            one->metadata.managed_fields = {};
            one->metadata.resource_version = {};
        }
        return now == before;
    }

    Authorizer& authorizer_;
};

/// Whoever could ask for a certificate of the administrators' group would soon be one.
class CertificateSubjectRestriction final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "CertificateSubjectRestriction"; }
    bool handles(const AdmissionAttributes& attributes) const override { return is_certificate_request(attributes); }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (attributes.operation != AdmissionOperation::Create) co_return {};
        const auto& spec = attributes.object->view<CertificateSigningRequest>().spec;
        if (spec.signer_name != ApiClientSigner) co_return {};
        const auto parsed = net::parse_certificate_request(spec.request);
        if (!parsed) co_return {};  // validation says so
        const auto& groups = parsed->subject.organizations;
        if (std::ranges::find(groups, GroupMasters) == groups.end()) co_return {};
        co_return admission_forbidden(
            attributes, std::string("use of ") + ApiClientSigner + " signer with " + std::string(GroupMasters) + " group is not allowed");
    }
};

}  // namespace

AdmissionPluginPtr make_certificate_approval(const AdmissionDependencies& given) {
    return std::make_unique<CertificateApproval>(given.authorizer);
}
AdmissionPluginPtr make_certificate_signing(const AdmissionDependencies& given) {
    return std::make_unique<CertificateSigning>(given.authorizer);
}
AdmissionPluginPtr make_pod_certificate_signing(const AdmissionDependencies& given) {
    return std::make_unique<PodCertificateSigning>(given.authorizer);
}
AdmissionPluginPtr make_cluster_trust_bundle_attest(const AdmissionDependencies& given) {
    return std::make_unique<ClusterTrustBundleAttest>(given.authorizer);
}
AdmissionPluginPtr make_certificate_subject_restriction(const AdmissionDependencies&) {
    return std::make_unique<CertificateSubjectRestriction>();
}

}  // namespace porthole::apiserver
