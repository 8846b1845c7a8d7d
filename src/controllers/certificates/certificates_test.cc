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
        run<CertificateSigner>(net::CertificateAuthority::create("ca", loop.wall_now(), loop.wall_now() + 24h * 3650));
        pass(1s);
    }
    SigningRequest stored() { return api.find<SigningRequest>({"", "csr"}).value(); }

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

}  // namespace
}  // namespace porthole::controllers
