#include "node_join/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "api/certificates_v1.h"
#include "api/core_v1.h"
#include "base/base64.h"
#include "client/fake/fake_api.h"
#include "net/tls/x509.h"
#include "node_join/identity.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using api::certificates::v1::CertificateSigningRequest;

/// The cluster's door: tells with which certificate one came.
class Door final : public client::Transport {
public:
    Door(client::FakeApi& api, std::string certificate, std::string& last) : api_(api), certificate_(std::move(certificate)), last_(last) {}
    Task<client::ApiResponse> call(client::ApiRequest request) override {
        last_ = certificate_;
        return api_.call(std::move(request));
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return api_.watch(std::move(request)); }

private:
    client::FakeApi& api_;
    std::string certificate_;
    std::string& last_;
};

/// A server whose certificate does not verify.
class Wall final : public client::Transport {
public:
    Task<client::ApiResponse> call(client::ApiRequest) override { co_return Error(Reason::Unavailable, "not trusted"); }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::Unavailable, "not trusted"); }
};

struct NodeConnectionTest : testing::Test {
    NodeConnectionTest() {
        char name[] = "/tmp/node-connection-XXXXXX";
        folder = fs::path(::mkdtemp(name));
        EXPECT_TRUE(
            write_node_folder(folder, {.servers = {"https://10.0.0.5:6443"}}, {"", authority.certificate_pem(), {}}, identity(90min)));
    }
    ~NodeConnectionTest() override {
        EXPECT_TRUE(sim::run(loop, scope.close()));
        loop.run_ready();
        fs::remove_all(folder);
    }

    KeyPair identity(Duration life) {
        const auto key = net::PrivateKey::generate();
        const auto now = loop.wall_now();
        return {*authority.issue(key, {.common_name = "system:node:a", .organizations = {"system:nodes"}},
                                 {.not_before = now, .not_after = now + life, .for_client = true}),
                key.pem()};
    }
    NodeConnection::Seams seams() {
        const auto connect = [this](const client::ClientConfig& config) -> Result<std::unique_ptr<client::Transport>> {
            if (config.certificate_pem.empty()) return Error(Reason::BadRequest, "no certificate");
            if (config.ca_pem.contains(unusable)) return std::make_unique<Wall>();
            return std::make_unique<Door>(api, config.certificate_pem, came_with);
        };
        return {loop, *files, random, connect, Logger(make_null_sink(), "test")};
    }
    std::string kubeconfig() const { return (folder / "kubeconfig").string(); }
    std::string file() { return *files->read((folder / "client.pem").string()); }
    /// The certificate with which a request of this connection comes.
    std::string shown_by(NodeConnection& connection) {
        client::Client client(connection.transport());
        (void)sim::run(loop, client.get<api::core::v1::Node>({"", "a"}));
        return came_with;
    }
    void sign_all() {
        for (const auto& request : api.list<CertificateSigningRequest>())
            api.change<CertificateSigningRequest>(client::key_of(request), [&](CertificateSigningRequest& request) {
                const auto parsed = *net::parse_certificate_request(request.spec.request);
                const auto now = loop.wall_now();
                request.status.certificate =
                    *authority.issue(parsed.public_der, parsed.subject, {.not_before = now, .not_after = now + 90min, .for_client = true});
            });
        loop.advance(1s);
    }
    /// What the cluster tells those who join.
    void publish(const std::string& ca_pem) {
        api::core::v1::ConfigMap info;
        info.metadata.name = "cluster-info";
        info.metadata.namespace_ = "kube-public";
        info.data["kubeconfig"] = "clusters:\n- cluster:\n    certificate-authority-data: " + encode_base64(ca_pem) + "\n";
        api.put(info);
    }
    std::string authority_file() { return *files->read((folder / "ca.crt").string()); }
    void wait_for_request() {
        for (int minutes = 0; minutes < 75 && api.list<CertificateSigningRequest>().empty(); ++minutes) loop.advance(1min);
        EXPECT_EQ(api.list<CertificateSigningRequest>().size(), 1u);
    }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    SeededRandom random{1};
    std::unique_ptr<FileSystem> files = make_file_system();
    net::CertificateAuthority authority = net::CertificateAuthority::create("ca", loop.wall_now() - 1h, loop.wall_now() + 24h * 3650);
    fs::path folder;
    std::string came_with;
    std::string unusable = "(none)";  ///< authorities that say this do not verify the server
    NodeConnection connection{seams()};
    Scope scope{loop};
};

// SEC-16
TEST_F(NodeConnectionTest, RenewsWhatJoinHasWrittenAndUsesIt) {
    ASSERT_TRUE(connection.open(kubeconfig()));
    const std::string before = file();
    EXPECT_EQ(shown_by(connection), before);
    int changes = 0;
    connection.on_change([&] { ++changes; });
    scope.spawn(connection.renew("a"));
    wait_for_request();
    EXPECT_EQ(file(), before) << "until the cluster has signed";
    sign_all();
    EXPECT_NE(file(), before);
    EXPECT_EQ(shown_by(connection), file());
    EXPECT_EQ(connection.config().certificate_pem, file());
    EXPECT_EQ(changes, 1);
    NodeConnection restarted(seams());
    ASSERT_TRUE(restarted.open(kubeconfig()));
    EXPECT_EQ(restarted.config(), connection.config());
}

// SEC-16
TEST_F(NodeConnectionTest, TheNodesOtherProgramsTakeWhatTheKubeletHasRenewed) {
    ASSERT_TRUE(connection.open(kubeconfig()));
    scope.spawn(connection.follow());
    const KeyPair renewed = identity(90min);
    ASSERT_TRUE(write_node_identity(folder, renewed));
    EXPECT_NE(shown_by(connection), file());
    loop.advance(61s);
    EXPECT_EQ(shown_by(connection), renewed.certificate_pem + renewed.key_pem);
}

TEST_F(NodeConnectionTest, FollowsTheClustersAuthorityAndRenewsItsCertificateWithTheNewOne) {
    ASSERT_TRUE(connection.open(kubeconfig()));
    publish(authority.certificate_pem());
    scope.spawn(connection.renew("a"));
    scope.spawn(connection.follow_authority());
    loop.advance(5min);
    EXPECT_TRUE(api.list<CertificateSigningRequest>().empty()) << "nothing has changed";

    const auto next = net::CertificateAuthority::create("ca-2", loop.wall_now() - 1h, loop.wall_now() + 24h * 3650);
    const std::string both = next.certificate_pem() + authority.certificate_pem();
    publish(both);
    loop.advance(40s);
    EXPECT_EQ(connection.config().ca_pem, both);
    EXPECT_EQ(authority_file(), both) << "it must be there after a restart";
    authority = next;
    ASSERT_EQ(api.list<CertificateSigningRequest>().size(), 1u);
    sign_all();
    EXPECT_EQ(net::parse_certificate(connection.config().certificate_pem)->issuer_common_name, "ca-2");
    loop.advance(10min);
    EXPECT_EQ(api.list<CertificateSigningRequest>().size(), 1u) << "once";

    publish(next.certificate_pem());
    loop.advance(40s);
    EXPECT_EQ(authority_file(), next.certificate_pem());
}

TEST_F(NodeConnectionTest, TakesNoAuthorityByWhichTheServerIsNotReached) {
    ASSERT_TRUE(connection.open(kubeconfig()));
    const auto other = net::CertificateAuthority::create("other", loop.wall_now() - 1h, loop.wall_now() + 24h * 3650);
    unusable = other.certificate_pem();
    publish(other.certificate_pem());
    scope.spawn(connection.follow_authority());
    loop.advance(5min);
    EXPECT_EQ(connection.config().ca_pem, authority.certificate_pem());
    EXPECT_EQ(authority_file(), authority.certificate_pem());
}

TEST_F(NodeConnectionTest, WhatCannotBeReadChangesNothing) {
    ASSERT_TRUE(connection.open(kubeconfig(), "https://other:6443"));
    scope.spawn(connection.follow());
    const std::string before = file();
    ASSERT_TRUE(files->remove((folder / "client.pem").string()));
    loop.advance(5min);
    EXPECT_EQ(shown_by(connection), before);
    ASSERT_TRUE(write_node_identity(folder, identity(90min)));
    loop.advance(61s);
    EXPECT_EQ(shown_by(connection), file());
    EXPECT_EQ(connection.config().server, "https://other:6443") << "it still wins over the kubeconfig's";
}

TEST_F(NodeConnectionTest, AnIdentityThatSomebodyElseKeepsIsNotRenewed) {
    const fs::path other = folder / "admin.pem";
    ASSERT_TRUE(files->rename((folder / "client.pem").string(), other.string()));
    std::string text = *files->read(kubeconfig());
    for (std::size_t at; (at = text.find("client.pem")) != text.npos;) text.replace(at, 10, "admin.pem");
    ASSERT_TRUE(files->write(kubeconfig(), text, 0600));
    ASSERT_TRUE(connection.open(kubeconfig()));
    scope.spawn(connection.renew("a"));
    loop.advance(3h);
    EXPECT_TRUE(api.list<CertificateSigningRequest>().empty());
    const KeyPair theirs = identity(90min);
    ASSERT_TRUE(files->write(other.string(), theirs.certificate_pem + theirs.key_pem, 0600));
    loop.advance(61s);
    EXPECT_EQ(shown_by(connection), theirs.certificate_pem + theirs.key_pem) << "but what they renew is used";
}

}  // namespace
}  // namespace porthole::node_join
