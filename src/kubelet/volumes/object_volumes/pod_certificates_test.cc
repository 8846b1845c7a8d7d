#include "kubelet/volumes/object_volumes/pod_certificates.h"

#include "kubelet/volumes/volumes_fixture.h"
#include "net/tls/pem.h"
#include "net/tls/x509.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

using Request = api::certificates::v1beta1::PodCertificateRequest;

class PodCertificatesTest : public VolumesTest {
protected:
    PodCertificatesTest() {
        core::Node node;
        node.metadata.name = "n1";
        node.metadata.uid = "node-uid";
        api.put(node);
        core::ServiceAccount account;
        account.metadata.namespace_ = "ns";
        account.metadata.name = "robot";
        account.metadata.uid = "robot-uid";
        api.put(account);
        writing.spawn(events.run());
    }
    ~PodCertificatesTest() override { EXPECT_TRUE(porthole::sim::run(loop, writing.close())); }

    /// The folder of the volume, or why there is none.
    std::string shown(
        const std::string& more = R"("credentialBundlePath":"both.pem","keyPath":"key.pem","certificateChainPath":"chain.pem")") {
        const auto made =
            mounts(R"({"serviceAccountName":"robot","securityContext":{"runAsUser":7},"volumes":[{"name":"v","projected":{"sources":[
            {"podCertificate":{"signerName":"x.io/s","keyType":"ED25519","userAnnotations":{"x.io/a":"b"},)" +
                   more + "}}]}}]}");
        return made ? made->at(0).host_path : made.error().message;
    }
    void pass(Duration time) { ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(time), time + 1s)); }
    /// The one request that is not answered.
    std::optional<Request> open() {
        std::optional<Request> found;
        for (const Request& request : api.list<Request>()) {
            if (!request.status.conditions.empty()) continue;
            EXPECT_FALSE(found) << "two requests";
            found = request;
        }
        return found;
    }
    /// Issues what is asked for, for `life`, to be renewed after `fresh`.
    std::string issue(Duration life = 24h, Duration fresh = 12h) {
        Request request = open().value();
        const auto from = loop.wall_now();
        const auto key = net::parse_certificate_request_der(request.spec.stub_pkcs10_request);
        const auto ca = net::CertificateAuthority::create("ca", from, from + life);
        const std::string chain =
            ca.issue(key->public_der, {.common_name = "p"}, {.not_before = from, .not_after = from + life}).value() + ca.certificate_pem();
        request.status.certificate_chain = "a comment\n" + chain;
        request.status.not_before = Timestamp(from);
        request.status.not_after = Timestamp(from + life);
        request.status.begin_refresh_at = Timestamp(from + fresh);
        request.status.conditions = {{.type = "Issued", .status = "True", .reason = "r"}};
        api.put(request);
        return chain;
    }
    void refuse(const char* type) {
        Request request = open().value();
        request.status.conditions = {{.type = type, .status = "True", .reason = "Unknown", .message = "who?"}};
        api.put(request);
    }
    std::string event(const std::string& reason) {
        pass(1s);
        for (const core::Event& one : api.list<core::Event>())
            if (one.reason == reason) return one.message;
        return "";
    }

    /// Of the signer's only source; "" if there is none.
    std::string state() const {
        std::string text;
        certificates.append_metrics(text);
        const std::string before = "\nkubelet_podcertificate_states{signer_name=\"x.io/s\",state=\"", after = "\"} 1\n";
        const std::size_t at = text.find(before);
        if (at == text.npos || !text.ends_with(after)) return text;
        return text.substr(at + before.size(), text.size() - after.size() - at - before.size());
    }

    Scope writing{loop};
};

constexpr const char* Waits = "MountVolume.SetUp failed for volume \"v\" : credential bundle is not issued yet";

TEST_F(PodCertificatesTest, AKeyOfThePodsOwnIsIssuedACertificate) {
    EXPECT_EQ(shown(), Waits);
    const Request request = open().value();
    EXPECT_EQ(request.metadata.namespace_, "ns");
    EXPECT_EQ(request.metadata.owner_references.at(0).uid, "u");
    EXPECT_EQ(request.spec.signer_name, "x.io/s");
    EXPECT_EQ(request.spec.pod_name + " " + request.spec.pod_uid, "p u");
    EXPECT_EQ(request.spec.service_account_name + " " + request.spec.service_account_uid, "robot robot-uid");
    EXPECT_EQ(request.spec.node_name + " " + request.spec.node_uid, "n1 node-uid");
    EXPECT_EQ(request.spec.unverified_user_annotations.at("x.io/a"), "b");
    EXPECT_EQ(shown(), Waits);
    EXPECT_EQ(api.list<Request>().size(), 1u) << "one is waited for";
    const std::string chain = issue(), folder = shown();
    EXPECT_EQ(files.read(folder + "/chain.pem").value(), chain) << "without the comment";
    const std::string key = files.read(folder + "/key.pem").value();
    EXPECT_EQ(net::PrivateKey::parse(key)->public_der(), net::parse_certificate(chain)->public_der);
    EXPECT_EQ(files.read(folder + "/both.pem").value(), key + chain);
    EXPECT_EQ(files.status(folder + "/key.pem")->mode, 0600u);
    pass(1h);
    EXPECT_EQ(shown(), folder);
    EXPECT_EQ(files.read(folder + "/key.pem").value(), key);
    EXPECT_FALSE(open());
}

TEST_F(PodCertificatesTest, ARequestThatWasDeletedIsMadeAgain) {
    EXPECT_EQ(shown(), Waits);
    const Request request = open().value();
    api.remove<Request>({"ns", request.metadata.name});
    EXPECT_EQ(shown(), Waits);
    EXPECT_NE(open()->metadata.name, request.metadata.name);
}

TEST_F(PodCertificatesTest, AnotherKeyAndCertificateComeInTime) {
    (void)shown();
    const std::string first = issue(24h, 12h), folder = shown();
    pass(11h + 59min);
    EXPECT_EQ(shown(), folder);
    EXPECT_FALSE(open());
    pass(6min + 1s);
    EXPECT_EQ(shown(), folder) << "the old one serves meanwhile";
    ASSERT_TRUE(open());
    EXPECT_EQ(files.read(folder + "/chain.pem").value(), first);
    EXPECT_EQ(event("CertificateOverdueForRefresh"), "");
    pass(20min);
    EXPECT_EQ(shown(), folder);
    EXPECT_EQ(event("CertificateOverdueForRefresh"), "PodCertificate refresh overdue");
    pass(12h);
    EXPECT_EQ(shown(), folder);
    EXPECT_EQ(event("CertificateExpired"), "PodCertificate expired");
    const std::string second = issue();
    EXPECT_EQ(shown(), folder);
    EXPECT_EQ(files.read(folder + "/chain.pem").value(), second);
    EXPECT_EQ(net::PrivateKey::parse(files.read(folder + "/key.pem").value())->public_der(), net::parse_certificate(second)->public_der);
}

TEST_F(PodCertificatesTest, ARefusalIsForGood) {
    (void)shown();
    refuse("Denied");
    const std::string refusal =
        "MountVolume.SetUp failed for volume \"v\" : PodCertificateRequest was permanently denied: reason=\"Unknown\" message=\"who?\"";
    EXPECT_EQ(shown(), refusal);
    EXPECT_THAT(event("Denied"), HasSubstr(" was denied, reason=\"Unknown\", message=\"who?\""));
    EXPECT_EQ(shown(), refusal);
    EXPECT_FALSE(open());
}

TEST_F(PodCertificatesTest, MetricsTellTheStateOfEachSource) {
    EXPECT_EQ(state(), "");
    (void)shown();
    EXPECT_EQ(state(), "not_yet_issued");
    issue(24h, 12h);
    (void)shown();
    EXPECT_EQ(state(), "fresh");
    pass(12h + 5min + 1s);
    (void)shown();
    EXPECT_EQ(state(), "fresh") << "while another is asked for";
    pass(10min);
    EXPECT_EQ(state(), "overdue_for_refresh");
    pass(12h);
    EXPECT_EQ(state(), "expired");
    issue();
    (void)shown();
    EXPECT_EQ(state(), "fresh");
    certificates.forget_pod("u");
    EXPECT_EQ(state(), "") << "series go with their pods";
    for (const auto& [type, expected] : {std::pair("Denied", "denied"), std::pair("Failed", "failed")}) {
        (void)shown();
        refuse(type);
        (void)shown();
        EXPECT_EQ(state(), expected);
        certificates.forget_pod("u");
    }
}

TEST_F(PodCertificatesTest, AContainerKeepsWhatItHasWhileANewKubeletWaits) {
    (void)shown();
    const std::string first = issue(), folder = shown();
    certificates.forget_pod("u");
    EXPECT_EQ(shown(), folder);
    EXPECT_EQ(files.read(folder + "/chain.pem").value(), first);
    const std::string second = issue();
    EXPECT_EQ(shown(), folder);
    EXPECT_EQ(files.read(folder + "/chain.pem").value(), second);
}

TEST_F(PodCertificatesTest, WhatIsMissingIsSaid) {
    api.remove<core::ServiceAccount>({"ns", "robot"});
    EXPECT_THAT(shown(), HasSubstr("while fetching service account: serviceaccounts \"robot\" not found"));
}

}  // namespace
}  // namespace porthole::kubelet
