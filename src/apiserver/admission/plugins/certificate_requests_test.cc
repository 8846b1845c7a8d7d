#include "api/certificates_v1.h"
#include "api/certificates_v1beta1.h"
#include "apiserver/admission/admission_fixture.h"
#include "net/tls/x509.h"

namespace porthole::apiserver {
namespace {

using api::certificates::v1::CertificateSigningRequest;
using api::certificates::v1beta1::ClusterTrustBundle;
using api::certificates::v1beta1::PodCertificateRequest;

/// Allows "<verb> <signer>" of a list.
struct SignerRights final : Authorizer {
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override {
        EXPECT_EQ(attributes.group, "certificates.k8s.io");
        EXPECT_EQ(attributes.resource, "signers");
        co_return granted == attributes.verb + " " + attributes.name ? Decision::allow() : Decision::no_opinion();
    }
    std::string granted;
};

struct CertificateRequestsTest : AdmissionTest {
    static CertificateSigningRequest request(const char* signer, std::vector<std::string> groups = {}) {
        auto made = named<CertificateSigningRequest>("", "r");
        made.spec.signer_name = signer;
        made.spec.request =
            net::create_certificate_request(net::PrivateKey::generate(), {.common_name = "x", .organizations = std::move(groups)});
        return made;
    }
    SignerRights rights;
    AdmissionDependencies with_rights{
        .reader = reader_, .rbac = rbac_, .authorizer = rights, .random = random_, .loop = loop_, .systems = {}};
    AdmissionPluginPtr approval = make_certificate_approval(with_rights);
    AdmissionPluginPtr signing = make_certificate_signing(with_rights);
    AdmissionPluginPtr restriction = make_certificate_subject_restriction(with_rights);
};

TEST_F(CertificateRequestsTest, ApprovingTakesTheRightOverTheSigner) {
    const auto before = request("example.test/web");
    auto after = before;
    after.status.conditions.push_back({.type = "Approved", .status = "True"});
    const struct {
        const char* granted;
        bool passes;
    } rows[] = {{"", false},
                {"approve example.test/web", true},
                {"approve example.test/*", true},
                {"approve example.test/other", false},
                {"sign example.test/web", false}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.granted);
        rights.granted = row.granted;
        EXPECT_EQ(update(*approval, before, after, "approval") == "", row.passes);
        EXPECT_EQ(error_.reason == Reason::Forbidden, !row.passes);
    }
    rights.granted.clear();
    EXPECT_EQ(update(*approval, before, after, "approval"),
              "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: "
              "user not permitted to approve requests with signerName \"example.test/web\"");
}

TEST_F(CertificateRequestsTest, SigningTakesARightThatOtherChangesOfTheStatusDoNot) {
    const auto before = request("example.test/web");
    auto after = before;
    after.status.conditions.push_back({.type = "Seen", .status = "True"});
    EXPECT_EQ(update(*signing, before, after, "status"), "");
    after.status.certificate = "PEM";
    EXPECT_NE(update(*signing, before, after, "status"), "");
    rights.granted = "sign example.test/web";
    EXPECT_EQ(update(*signing, before, after, "status"), "");
}

TEST_F(CertificateRequestsTest, ASignerOfAnotherNameInTheBodyChangesNothing) {
    const auto before = request("example.test/web");
    auto after = before;
    after.spec.signer_name = "mine.test/x";
    after.status.conditions.push_back({.type = "Approved", .status = "True"});
    rights.granted = "approve mine.test/x";
    EXPECT_NE(update(*approval, before, after, "approval"), "");
}

TEST_F(CertificateRequestsTest, NobodyAsksToBeAnAdministrator) {
    EXPECT_EQ(create(*restriction, request("kubernetes.io/kube-apiserver-client", {"system:masters"})),
              "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: "
              "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
    EXPECT_EQ(create(*restriction, request("kubernetes.io/kube-apiserver-client", {"developers"})), "");
    EXPECT_EQ(create(*restriction, request("example.test/web", {"system:masters"})), "");
}

TEST_F(CertificateRequestsTest, SigningForAPodTakesTheRightOverTheSigner) {
    const AdmissionPluginPtr plugin = make_pod_certificate_signing(with_rights);
    auto before = named<PodCertificateRequest>("a", "r");
    before.spec.signer_name = "example.test/web";
    auto after = before;
    after.status.certificate_chain = "chain";
    after.spec.signer_name = "other.test/s";  // is not written
    EXPECT_EQ(update(*plugin, before, after, "status"),
              "PodCertificateRequest.certificates.k8s.io \"r\" is invalid: spec.signerName: Forbidden: User \"jane\" is not permitted to "
              "\"sign\" for signer \"example.test/web\"");
    EXPECT_EQ(update(*plugin, before, before, "status"), "") << "refusing takes no right";
    EXPECT_EQ(update(*plugin, before, after), "");
    for (const char* granted : {"sign example.test/web", "sign example.test/*"}) {
        rights.granted = granted;
        EXPECT_EQ(update(*plugin, before, after, "status"), "");
    }
}

TEST_F(CertificateRequestsTest, ATrustBundleOfASignerTakesTheRightOverTheSigner) {
    const AdmissionPluginPtr plugin = make_cluster_trust_bundle_attest(with_rights);
    auto bundle = named<ClusterTrustBundle>("", "own");
    EXPECT_EQ(create(*plugin, bundle), "");
    bundle = named<ClusterTrustBundle>("", "example.test:web:a");
    bundle.spec.signer_name = "example.test/web";
    const std::string refusal =
        "clustertrustbundles.certificates.k8s.io \"example.test:web:a\" is forbidden: user not permitted to attest for "
        "signerName \"example.test/web\"";
    EXPECT_EQ(create(*plugin, bundle), refusal);
    auto after = bundle;
    after.metadata.finalizers = {"x.io/y"};
    EXPECT_EQ(update(*plugin, bundle, after), "") << "what the garbage collector writes";
    after.metadata.labels["a"] = "b";
    EXPECT_EQ(update(*plugin, bundle, after), refusal);
    EXPECT_EQ(remove_object(*plugin, bundle), "");
    rights.granted = "attest example.test/*";
    EXPECT_EQ(create(*plugin, bundle), "");
    EXPECT_EQ(update(*plugin, bundle, after), "");
}

}  // namespace
}  // namespace porthole::apiserver
