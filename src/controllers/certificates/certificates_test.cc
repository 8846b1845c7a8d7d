#include "controllers/certificates/kubelet_serving_approver.h"
#include "controllers/certificates/pod_certificate_cleaner.h"
#include "controllers/certificates/requests.h"
#include "controllers/certificates/signer.h"
#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

class CertificatesWorld : public SimWorld {
protected:
    SigningRequest request(net::CertificateSubject subject, std::vector<std::string> usages = {"digital signature", "client auth"}) {
        SigningRequest made;
        made.metadata.name = "csr";
        made.metadata.creation_timestamp = Timestamp(loop.wall_now());
        made.spec.signer_name = KubeletClientSigner;
        made.spec.request = net::create_certificate_request(key_, subject);
        made.spec.usages = std::move(usages);
        return made;
    }
    void put_approved(SigningRequest made) {
        made.status.conditions.push_back({.type = "Approved", .status = "True", .last_update_time = Timestamp(loop.wall_now())});
        api.put(made);
    }
    void run_signer() {
        const auto authority = [&](const char* name) {
            return net::CertificateAuthority::create(name, loop.wall_now(), loop.wall_now() + 24h * 3650);
        };
        run<CertificateSigner>(authority("ca"), authority("kubelets"));
        pass(1s);
    }
    SigningRequest stored() { return api.find<SigningRequest>({"", "csr"}).value(); }

    /// A node with these addresses, and its request for a serving certificate with those names and addresses.
    void put_node(const std::string& name, const std::string& address) {
        api::core::v1::Node node;
        node.metadata.name = name;
        node.status.addresses = {{.type = "InternalIP", .address = address}, {.type = "Hostname", .address = name}};
        api.put(node);
    }
    SigningRequest serving_request(std::vector<std::string> names, std::vector<std::string> addresses) {
        SigningRequest made = request({.common_name = "system:node:a",
                                       .organizations = {"system:nodes"},
                                       .dns_names = std::move(names),
                                       .ip_addresses = std::move(addresses)},
                                      {"digital signature", "server auth"});
        made.spec.signer_name = KubeletServingSigner;
        made.spec.username = "system:node:a";
        made.spec.groups = {"system:nodes", "system:authenticated"};
        return made;
    }

    net::PrivateKey key_ = net::PrivateKey::generate();
    net::CertificateSubject node_{.common_name = "system:node:a", .organizations = {"system:nodes"}};
};

TEST_F(CertificatesWorld, OnlyNodesMayHaveNodeCertificates) {
    EXPECT_EQ(refuse_kubelet_client(request(node_), node_), "");
    struct {
        const char* name;
        net::CertificateSubject subject;
        std::vector<std::string> usages;
    } const rows[] = {
        {"wrong group", {.common_name = "system:node:a", .organizations = {"system:masters"}}, {"digital signature", "client auth"}},
        {"two groups", {.common_name = "system:node:a", .organizations = {"system:nodes", "x"}}, {"digital signature", "client auth"}},
        {"no node", {.common_name = "system:node:", .organizations = {"system:nodes"}}, {"digital signature", "client auth"}},
        {"names",
         {.common_name = "system:node:a", .organizations = {"system:nodes"}, .dns_names = {"a"}},
         {"digital signature", "client auth"}},
        {"server", node_, {"digital signature", "server auth"}},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_NE(refuse_kubelet_client(request(row.subject, row.usages), row.subject), "");
    }
}

TEST_F(CertificatesWorld, SignsWhatIsApproved) {
    put_approved(request(node_));
    run_signer();
    const auto info = net::parse_certificate(stored().status.certificate);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->subject.common_name, "system:node:a");
    EXPECT_EQ(info->public_der, key_.public_der());
}

TEST_F(CertificatesWorld, AClientOfTheApiGetsACertificateForClientsOnly) {
    const auto refused = [&](std::vector<std::string> usages) {
        SigningRequest made = request({.common_name = "jane"}, std::move(usages));
        made.spec.signer_name = ApiClientSigner;
        return refuse_by_signer(made, {.common_name = "jane"});
    };
    EXPECT_EQ(refused({"client auth"}), "");
    EXPECT_EQ(refused({"digital signature", "key encipherment", "client auth"}), "");
    EXPECT_EQ(refused({"client auth", "server auth"}), "invalid usage for client certificate: server auth");
    EXPECT_EQ(refused({"digital signature"}), "missing required usage for client certificate: client auth");
}

TEST_F(CertificatesWorld, LeavesWhatIsNotApproved) {
    api.put(request(node_));
    run_signer();
    EXPECT_EQ(stored().status.certificate, "");
    EXPECT_TRUE(stored().status.conditions.empty());
}

TEST_F(CertificatesWorld, SaysWhyAnApprovedRequestCannotBeSigned) {
    put_approved(request({.common_name = "someone", .organizations = {"system:nodes"}}));
    run_signer();
    EXPECT_TRUE(has_condition(stored(), "Failed"));
    EXPECT_EQ(stored().status.certificate, "");
}

TEST_F(CertificatesWorld, RemovesSettledRequestsAfterAnHourAndOpenOnesAfterADay) {
    api.put(request(node_));
    run<CertificateCleaner>();
    pass(23h);
    EXPECT_TRUE(api.find<SigningRequest>({"", "csr"}).has_value());
    pass(2h);
    EXPECT_FALSE(api.find<SigningRequest>({"", "csr"}).has_value());
}

TEST_F(CertificatesWorld, RemovesRequestsOfPodsAfterAQuarterOfAnHour) {
    api::certificates::v1beta1::PodCertificateRequest request;
    request.metadata.namespace_ = "a";
    request.metadata.name = "r";
    request.metadata.creation_timestamp = Timestamp(loop.wall_now());
    api.put(request);
    run<PodCertificateCleaner>();
    pass(14min);
    EXPECT_TRUE(api.find<api::certificates::v1beta1::PodCertificateRequest>({"a", "r"}).has_value());
    pass(2min);
    EXPECT_FALSE(api.find<api::certificates::v1beta1::PodCertificateRequest>({"a", "r"}).has_value());
}

TEST_F(CertificatesWorld, AKubeletServesWithItsNodesNamesAndAddressesOnly) {
    put_node("a", "10.0.0.1");
    put_node("b", "10.0.0.2");
    put_node("c", "10.0.0.3");
    put_node("thief", "10.0.0.3");
    run<KubeletServingApprover>();
    struct {
        const char* name;
        SigningRequest request;
        bool approved;
    } rows[] = {
        {"its own", serving_request({"a"}, {"10.0.0.1"}), true},
        {"its address", serving_request({}, {"10.0.0.1"}), true},
        {"an address of another node", serving_request({"a"}, {"10.0.0.2"}), false},
        {"an address of nobody", serving_request({"a"}, {"10.0.0.1", "10.9.9.9"}), false},
        {"a name of nobody", serving_request({"a", "kubernetes.default"}, {"10.0.0.1"}), false},
        {"another signer's usages", serving_request({"a"}, {"10.0.0.1"}), false},
        {"another node asks", serving_request({"a"}, {"10.0.0.1"}), false},
        {"a user of the node's name", serving_request({"a"}, {"10.0.0.1"}), false},
        {"an address that two nodes claim", serving_request({"c"}, {"10.0.0.3"}), false},
    };
    rows[5].request.spec.usages = {"client auth"};
    rows[6].request.spec.username = "system:node:b";
    rows[7].request.spec.groups = {"system:authenticated"};
    const net::CertificateSubject of_c{
        .common_name = "system:node:c", .organizations = {"system:nodes"}, .dns_names = {"c"}, .ip_addresses = {"10.0.0.3"}};
    rows[8].request.spec.request = net::create_certificate_request(key_, of_c);
    rows[8].request.spec.username = "system:node:c";
    for (auto& row : rows) {
        SCOPED_TRACE(row.name);
        api.put(row.request);
        pass(2min);
        EXPECT_EQ(has_condition(stored(), "Approved"), row.approved);
        EXPECT_FALSE(has_condition(stored(), "Denied")) << "an administrator may decide";
        api.erase<SigningRequest>({"", "csr"});
    }
}

TEST_F(CertificatesWorld, ANodeOfManyNamesTakesLinearTime) {
    api::core::v1::Node node;
    node.metadata.name = "a";
    std::vector<std::string> names;
    for (int i = 0; i < 20'000; ++i) {
        names.push_back("n" + std::to_string(i));
        node.status.addresses.push_back({.type = "Hostname", .address = names.back()});
    }
    api.put(node);
    put_node("b", "10.0.0.2");
    run<KubeletServingApprover>();
    api.put(serving_request(names, {}));
    pass(1s);
    EXPECT_TRUE(has_condition(stored(), "Approved"));
}

TEST_F(CertificatesWorld, ARequestWaitsForTheAddressesOfItsNode) {
    run<KubeletServingApprover>();
    api.put(serving_request({"a"}, {"10.0.0.1"}));
    pass(5s);
    EXPECT_FALSE(has_condition(stored(), "Approved"));
    put_node("a", "10.0.0.1");
    pass(1s);
    EXPECT_TRUE(has_condition(stored(), "Approved"));
}

TEST_F(CertificatesWorld, KubeletsServeWithCertificatesOfAnAuthorityOfTheirOwn) {
    const auto issuer = [&] {
        const std::string name = net::parse_certificate(stored().status.certificate)->issuer_common_name;
        api.erase<SigningRequest>({"", "csr"});
        return name;
    };
    run_signer();
    put_approved(serving_request({"a"}, {"10.0.0.1"}));
    pass(1s);
    EXPECT_EQ(issuer(), "kubelets");
    put_approved(request(node_));
    pass(1s);
    EXPECT_EQ(issuer(), "ca");
}

}  // namespace
}  // namespace porthole::controllers
