// ClusterTrustBundles and PodCertificateRequests.
#include "apiserver/kinds/rules_fixture.h"

#include "api/certificates_v1beta1.h"
#include "base/base64.h"
#include "net/tls/pem.h"
#include "net/tls/x509.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using api::certificates::v1beta1::ClusterTrustBundle;
using api::certificates::v1beta1::PodCertificateRequest;
using net::KeyType;
using net::PrivateKey;

const net::CertificateTime Now{std::chrono::seconds(1'700'000'000)};  // of the rules

net::CertificateAuthority authority() { return net::CertificateAuthority::create("ca", Now, Now + 24h); }

/// A merge patch that sets one member of the spec.
std::string spec(const std::string& field, const std::string& value) {
    schema::Value patch = schema::Value::object();
    patch["spec"] = schema::Value::object();
    patch["spec"][field] = value;
    return schema::to_json(patch);
}

// --- ClusterTrustBundles ---

struct TrustBundleRules : testing::Test {
    std::string anchor = authority().certificate_pem(), other = authority().certificate_pem();
    RulesOf rules{"certificates.k8s.io", "v1beta1", "ClusterTrustBundle", spec("trustBundle", anchor).c_str()};
    /// The refusal of a bundle, after the value that is left out.
    std::string refusal(const std::string& bundle) {
        const std::string all = rules.create(spec("trustBundle", bundle).c_str()),
                          omitted = "spec.trustBundle: Invalid value: \"<value omitted>\": ";
        return all.starts_with(omitted) ? all.substr(omitted.size()) : all;
    }
};

TEST_F(TrustBundleRules, AreNamedByTheirSigner) {
    EXPECT_EQ(rules.create(), "");
    EXPECT_EQ(rules.create("metadata: {name: 'a:b'}"),
              "metadata.name: Invalid value: \"a:b\": ClusterTrustBundle without signer name must not have \":\" in its name");
    EXPECT_EQ(rules.create("{metadata: {name: 'example.com:s:a'}, spec: {signerName: example.com/s}}"), "");
    EXPECT_EQ(
        rules.create("spec: {signerName: example.com/s}"),
        "metadata.name: Invalid value: \"x\": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:");
    EXPECT_EQ(rules.create("{metadata: {name: 'com:s:a'}, spec: {signerName: com/s}}"),
              "spec.signerName: Invalid value: \"com\": should be a domain with at least two segments separated by dots");
    EXPECT_NE(rules.update("{metadata: {name: 'example.com:s:a'}, spec: {signerName: example.com/s}}").find("field is immutable"),
              std::string::npos);
}

TEST_F(TrustBundleRules, HoldCertificatesOfAuthoritiesEachOnce) {
    const std::string leaf =
        authority().issue(PrivateKey::generate(), {.common_name = "x"}, {.not_before = Now, .not_after = Now + 1h}).value();
    EXPECT_EQ(refusal(""), "at least one trust anchor must be provided");
    EXPECT_EQ(refusal("a comment\n" + anchor + other), "");
    EXPECT_EQ(refusal(anchor + other + anchor), "duplicate trust anchor (indices [0 2])");
    EXPECT_EQ(refusal(anchor + leaf), "entry 1 does not have the CA bit set");
    EXPECT_EQ(refusal(PrivateKey::generate().pem()), "entry 0 has bad block type: EC PRIVATE KEY");
    EXPECT_EQ(refusal(net::to_pem("CERTIFICATE", "x")), "entry 0 does not parse as X.509");
    std::string headers = anchor;
    headers.insert(headers.find('\n') + 1, "Key: value\n\n");
    EXPECT_EQ(refusal(headers), "entry 0 has PEM block headers");
    EXPECT_EQ(rules.create(spec("trustBundle", std::string((1 << 20) + 1, 'x')).c_str()),
              "spec.trustBundle: Too long: may not be more than 1048576 bytes");
    EXPECT_EQ(rules.update("metadata: {labels: {a: b}}"), "");
    EXPECT_NE(rules.update(spec("trustBundle", "nothing").c_str()), "");
}

// --- PodCertificateRequests ---

std::string request_of(const PrivateKey& key) { return net::parse_pem(net::create_certificate_request(key, {})).at(0).bytes; }

class PodCertificateRules : public testing::Test {
protected:
    static std::string base(const PrivateKey& key) {
        return "spec: {signerName: example.com/s, podName: p, podUID: u, serviceAccountName: default, serviceAccountUID: s, nodeName: n1, "
               "nodeUID: m, stubPKCS10Request: " +
               encode_base64(request_of(key)) + "}";
    }
    std::string ask(const std::string& der) { return rules.create(spec("stubPKCS10Request", encode_base64(der)).c_str()); }

    /// A status of the certificate that `subject` and the times tell, Issued.
    std::string issued(net::CertificateTime from, Duration life, const PrivateKey& key, net::CertificateSubject subject = {},
                       Duration refresh = 30min) {
        const std::string chain = authority().issue(key, subject, {.not_before = from, .not_after = from + life}).value();
        const auto text = [](net::CertificateTime time) { return Timestamp(time).to_string(); };
        schema::Value patch = schema::Value::object();
        schema::Value& status = patch["status"] = schema::Value::object();
        status["certificateChain"] = chain;
        status["notBefore"] = text(from);
        status["notAfter"] = text(from + life);
        status["beginRefreshAt"] = text(from + refresh);
        status["conditions"] = *schema::parse_json(R"([{"type":"Issued","status":"True","reason":"Issued"}])");
        return schema::to_json(patch);
    }
    std::string answer(const std::string& patch) { return rules.update_status("{}", patch.c_str()); }

    PrivateKey key = PrivateKey::generate();
    RulesOf rules{"certificates.k8s.io", "v1beta1", "PodCertificateRequest", base(key).c_str()};
};

TEST_F(PodCertificateRules, AskForTheKeysThatKubernetesKnows) {
    for (const KeyType type : {KeyType::EcP256, KeyType::EcP384, KeyType::EcP521, KeyType::Ed25519, KeyType::Rsa3072})
        EXPECT_EQ(ask(request_of(PrivateKey::generate(type))), "");
    EXPECT_EQ(ask("x"), "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR");
    EXPECT_EQ(ask(request_of(key) + "x"), "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR");
    std::string forged = request_of(key);
    forged.back() = static_cast<char>(forged.back() ^ 1);
    EXPECT_EQ(ask(forged), "spec.stubPKCS10Request: Invalid value: invalid signature");
    EXPECT_EQ(ask(std::string((10 << 10) + 1, 'x')), "spec.stubPKCS10Request: Too long: may not be more than 10240 bytes");
    constexpr const char* Either =
        "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
    EXPECT_EQ(ask(""), Either);
    EXPECT_EQ(rules.create("spec: {pkixPublicKey: YQ==, proofOfPossession: YQ==}"), Either);
    EXPECT_EQ(rules.create("spec: {stubPKCS10Request: null, pkixPublicKey: YQ==, proofOfPossession: YQ==}"),
              "spec.pkixPublicKey: Invalid value: must be a valid PKIX-serialized public key");
    const std::string unproven =
        "spec: {stubPKCS10Request: null, proofOfPossession: YQ==, pkixPublicKey: " + encode_base64(key.public_der()) + "}";
    EXPECT_EQ(rules.create(unproven.c_str()), "spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature");
}

TEST_F(PodCertificateRules, RefuseInKubernetesWords) {
    EXPECT_EQ(rules.created().at_path({"spec", "maxExpirationSeconds"})->as_int(), 86400);
    expect_answers(rules,
                   {
                       {"as it is", "{}", ""},
                       {"no signer", "spec: {signerName: ''}", "spec.signerName: Required value"},
                       {"no pod", "spec: {podUID: ''}", "spec.podUID: Invalid value: \"\": must not be empty"},
                       {"an hour at least", "spec: {maxExpirationSeconds: 3599}",
                        "spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]"},
                       {"91 days", "spec: {maxExpirationSeconds: 7862400}", ""},
                       {"a day of Kubernetes' signers", "spec: {signerName: kubernetes.io/s, maxExpirationSeconds: 86401}",
                        "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"},
                       {"annotations of a domain", "spec: {unverifiedUserAnnotations: {Example.com/Key: any value}}", ""},
                       {"and without", "spec: {unverifiedUserAnnotations: {key: v}}",
                        "spec.unverifiedUserAnnotations: Invalid value: \"key\": must be a domain-prefixed key (such as \"acme.io/foo\")"},
                   });
    EXPECT_EQ(rules.update("spec: {podName: q}"), "spec: Invalid value: field is immutable");
    EXPECT_EQ(rules.update("metadata: {labels: {a: b}}"), "");
}

TEST_F(PodCertificateRules, AreIssuedOnceForTheirKeyAndTheirTime) {
    const std::string chain = "status.certificateChain: Invalid value: ";
    EXPECT_EQ(answer(issued(Now, 2h, key)), "");
    EXPECT_EQ(answer(issued(Now - 4min, 24h, key)), "");
    const struct {
        const char* name;
        std::string patch, refusal;
    } rows[] = {
        {"another key", issued(Now, 2h, PrivateKey::generate()), "leaf certificate was not issued to the requested public key"},
        {"long ago", issued(Now - 5min, 2h, key), "must be set to within 5 minutes of kube-apiserver's current time"},
        {"too short", issued(Now, 59min, key), chain + "\"3540s\": leaf certificate lifetime must be >= 1 hour"},
        {"too long", issued(Now, 25h, key), chain + "\"90000s\": leaf certificate lifetime must be <= spec.maxExpirationSeconds (86400)"},
        {"no time to refresh", issued(Now, 1h, key, {}, 51min), "must be at least 10 minutes before status.notAfter"},
        {"refreshed at once", issued(Now, 1h, key, {}, 9min), "must be at least 10 minutes after status.notBefore"},
        {"a name that climbs", issued(Now, 1h, key, {.dns_names = {"a..b"}}),
         chain + "\"a..b\": leaf certificate's DNSName should not contain '..'"},
        {"no certificate", R"({"status":{"certificateChain":"x","conditions":[{"type":"Issued","status":"True","reason":"r"}]}})",
         chain + "\"x\": issued certificate chain must contain at least one certificate"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_NE(answer(row.patch).find(row.refusal), std::string::npos) << answer(row.patch);
    }
    EXPECT_EQ(rules.update_status(issued(Now, 2h, key).c_str(), "status: {notAfter: '2030-01-01T00:00:00Z'}"),
              "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed");
}

TEST_F(PodCertificateRules, AreRefusedWithNothingButTheReason) {
    EXPECT_EQ(answer("status: {conditions: [{type: Denied, status: 'True', reason: r}]}"), "");
    EXPECT_NE(rules.updated().at_path({"status", "conditions"})->as_array().at(0).string_at({"lastTransitionTime"}), "");
    EXPECT_EQ(answer("status: {certificateChain: x, conditions: [{type: Failed, status: 'True', reason: r}]}"),
              "status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest");
    EXPECT_EQ(answer("status: {certificateChain: x}"),
              "status: Invalid value: status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"");
    EXPECT_EQ(answer("status: {conditions: [{type: Denied, status: 'False', reason: r}]}"),
              "status.conditions.[0].status: Unsupported value: \"False\": supported values: \"True\"");
    EXPECT_EQ(answer("status: {conditions: [{type: Approved, status: 'True', reason: r}]}"),
              "status.conditions.[0].type: Unsupported value: \"Approved\": supported values: \"Denied\", \"Failed\", \"Issued\"");
    EXPECT_EQ(
        answer("status: {conditions: [{type: Denied, status: 'True', reason: r}, {type: Failed, status: 'True', reason: r}]}"),
        "status.conditions.[1].type: Invalid value: \"Failed\": There may be at most one condition with type \"Issued\", \"Denied\", or "
        "\"Failed\"");
}

// --- Pods that name them ---

TEST(ProjectedVolumeRules, RefuseInKubernetesWords) {
    RulesOf rules("", "v1", "Pod", "spec: {containers: [{name: c, image: i}]}");
    const auto refusal = [&](const std::string& sources) {
        return rules.create(("spec: {volumes: [{name: v, projected: {sources: [" + sources + "]}}]}").c_str());
    };
    const std::string projected = "spec.volumes[0].projected", at = projected + ".sources[0].";
    const std::string certificate = "{podCertificate: {signerName: example.com/s, keyType: ED25519, keyPath: k";
    EXPECT_EQ(refusal("{clusterTrustBundle: {name: 'example.com:s:a', path: p}}, " + certificate + "}}"), "");
    EXPECT_EQ(refusal("{clusterTrustBundle: {signerName: example.com/s, labelSelector: {}, path: p}}"), "");
    const struct {
        std::string sources, answer;
    } rows[] = {
        {"{clusterTrustBundle: {path: p}}", at + "clusterTrustBundle: Required value: either name or signerName must be specified"},
        {"{clusterTrustBundle: {name: a, signerName: example.com/s, path: p}}",
         at + "clusterTrustBundle: Invalid value: only one of name and signerName may be used"},
        {"{clusterTrustBundle: {name: 'A', path: p}}",
         at + "clusterTrustBundle.name: Invalid value: \"A\": not a valid clustertrustbundlename: "},
        {"{clusterTrustBundle: {name: a, path: ../p}}", at + "clusterTrustBundle.path: Invalid value: \"../p\": must not contain '..'"},
        {"{podCertificate: {signerName: s, keyType: ED25519, keyPath: k}}",
         at + "podCertificate.signerName: Invalid value: \"s\": must be a fully qualified domain and path"},
        {"{podCertificate: {signerName: example.com/s, keyType: RSA1024, keyPath: k}}",
         at + "podCertificate.keyType: Unsupported value: \"RSA1024\": supported values: \"ECDSAP256\", "},
        {"{podCertificate: {signerName: example.com/s, keyType: ED25519}}",
         at + "podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath"},
        {certificate + ", maxExpirationSeconds: 60}}",
         at + "podCertificate.maxExpirationSeconds: Invalid value: 60: if provided, maxExpirationSeconds must be >= 3600"},
        {certificate + ", userAnnotations: {a: b}}}",
         at + "podCertificate.userAnnotations: Invalid value: \"a\": must be a domain-prefixed key"},
        {certificate + ", certificateChainPath: k}}", projected + ": Invalid value: \"k\": conflicting duplicate paths"},
        {"{secret: {name: s, items: [{key: a, path: k}]}}, " + certificate + "}}",
         projected + ": Invalid value: \"k\": conflicting duplicate paths"},
        {"{configMap: {name: s, items: [{key: a, path: k}]}}, {secret: {name: s, items: [{key: a, path: k}]}}",
         projected + ": Invalid value: \"s\": conflicting duplicate paths"},
        {"{configMap: {name: s}, secret: {name: s}}",
         projected + ".sources[0]: Forbidden: may not specify more than 1 volume type per source"},
    };
    for (const auto& row : rows) EXPECT_TRUE(refusal(row.sources).starts_with(row.answer)) << row.sources << "\n" << refusal(row.sources);
}

}  // namespace
}  // namespace porthole::apiserver
