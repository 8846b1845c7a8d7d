#include "node_join/identity.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "api/core_v1.h"
#include "base/base64.h"
#include "client/fake/fake_api.h"
#include "client/kubeconfig.h"
#include "net/tls/crypto.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;

const std::string Hash = "sha256:" + std::string(64, 'a');

// JOI-02
TEST(NodeIdentity, RefusesWhatCannotBeATokenOrAHashBeforeAskingAnybody) {
    const struct {
        const char* name;
        JoinTarget target;
        const char* message;  ///< nullptr: it is fine
    } rows[] = {
        {"right", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {Hash}}, nullptr},
        {"short token", {{"10.0.0.5:6443"}, "abcdef.0123456789abcde", {Hash}}, "token create"},
        {"capitals", {{"10.0.0.5:6443"}, "ABCDEF.0123456789abcdef", {Hash}}, "token create"},
        {"two dots", {{"10.0.0.5:6443"}, "abcdef.0123456789abcd.f", {Hash}}, "token create"},
        {"hash without its kind", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {std::string(64, 'a')}}, "--ca-cert-hash"},
        {"hash of no hex", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {"sha256:" + std::string(64, 'x')}}, "--ca-cert-hash"},
        {"second hash wrong", {{"10.0.0.5:6443"}, "abcdef.0123456789abcdef", {Hash, "sha256:"}}, "--ca-cert-hash"},
    };
    for (auto row : rows) {
        SCOPED_TRACE(row.name);
        const auto checked = check_target(row.target);
        EXPECT_EQ(row.target.servers, std::vector<std::string>{"https://10.0.0.5:6443"});
        ASSERT_EQ(checked.has_value(), row.message == nullptr);
        if (checked) continue;
        EXPECT_NE(checked.error().message.find(row.message), std::string::npos) << checked.error().message;
        EXPECT_EQ(checked.error().message.find('\n'), std::string::npos);
    }
}

TEST(NodeIdentity, RefusesAServerWithoutEncryption) {
    JoinTarget target{{"http://10.0.0.5:6443"}, "abcdef.0123456789abcdef", {Hash}};
    EXPECT_EQ(check_target(target).error().message,
              "server \"http://10.0.0.5:6443\": the address of an API server must begin with https://");
}

/// A server whose controllers have not signed cluster-info with the token yet.
struct Discovery : testing::Test {
    Discovery() {
        info.metadata.namespace_ = "kube-public";
        info.metadata.name = "cluster-info";
        info.data["kubeconfig"] =
            "clusters:\n- cluster: {certificate-authority-data: " + encode_base64(authority.certificate_pem()) + "}\n";
        api.put(info);
        target.ca_hashes = {"sha256:" + (*authority_ids(authority.certificate_pem()))[0]};
    }
    ~Discovery() override { EXPECT_TRUE(sim::run(loop, scope.close())); }
    void sign_after(Duration delay) {
        scope.spawn([](Discovery& self, Duration wait) -> Task<> {
            CO_TRY_VOID(co_await self.loop.sleep(wait));
            self.info.data["jws-kubeconfig-abcdef"] = net::sign_detached_jws(self.info.data["kubeconfig"], "abcdef", "0123456789abcdef");
            self.api.put(self.info);
            co_return {};
        }(*this, delay));
    }
    /// A connection to the API; one that shows the token fails, if it is refused.
    struct Door final : client::Transport {
        explicit Door(Discovery& owner, bool refuses) : self(owner), refused(refuses) {}
        Task<client::ApiResponse> call(client::ApiRequest request) override {
            if (refused) co_return Error(Reason::Unauthorized, "Unauthorized");
            co_return co_await self.api.call(std::move(request));
        }
        Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return self.api.watch(std::move(request)); }
        Discovery& self;
        bool refused;
    };
    Result<ClusterInfo> discover() {
        return sim::run(
            loop, discover_cluster(loop, target, [this](const client::ClientConfig& config) {
                EXPECT_TRUE(config.token.empty() || (!config.insecure_skip_verify && config.ca_pem == authority.certificate_pem()));
                return Result<std::unique_ptr<client::Transport>>(std::make_unique<Door>(*this, !config.token.empty() && refuses_token));
            }));
    }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    Scope scope{loop};
    net::CertificateAuthority authority =
        net::CertificateAuthority::create("ca", loop.wall_now(), loop.wall_now() + std::chrono::hours(24));
    api::core::v1::ConfigMap info;
    JoinTarget target{{"https://10.0.0.5:6443"}, "abcdef.0123456789abcdef", {}};
    bool refuses_token = false;
};

TEST_F(Discovery, WaitsForTheNextLeaderToSignWithATokenThatTheServerKnows) {
    sign_after(std::chrono::seconds(20));
    const auto found = discover();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->ca_pem, authority.certificate_pem());
}

TEST_F(Discovery, FailsSoonWithATokenThatTheServerRefuses) {
    refuses_token = true;
    const auto begun = loop.now();
    const auto found = discover();
    ASSERT_FALSE(found);
    EXPECT_TRUE(found.error().message.starts_with("the token is unknown to the server or has expired;")) << found.error().message;
    EXPECT_LT(loop.now() - begun, std::chrono::seconds(5));
}

TEST_F(Discovery, SaysThatNothingSignsRatherThanThatTheTokenIsUnknown) {
    const auto found = discover();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().reason, Reason::Timeout);
    EXPECT_TRUE(found.error().message.starts_with("the server knows the token, but the cluster's controllers have not signed"));
}

// Its cluster-info has the cluster's authority, which everybody may read, and its own.
TEST_F(Discovery, ShowsTheTokenToNoneOfTheAuthoritiesThatSomeoneInBetweenAdds) {
    const auto added = net::CertificateAuthority::create("ca", loop.wall_now(), loop.wall_now() + std::chrono::hours(24));
    for (const bool is_first : {false, true}) {
        const std::string both =
            is_first ? added.certificate_pem() + authority.certificate_pem() : authority.certificate_pem() + added.certificate_pem();
        info.data["kubeconfig"] = "clusters:\n- cluster: {certificate-authority-data: " + encode_base64(both) + "}\n";
        api.put(info);
        EXPECT_FALSE(discover()) << "discover() looks where the token is shown";
    }
}

struct NodeFolder : testing::Test {
    NodeFolder() {
        char name[] = "/tmp/node-identity-XXXXXX";
        folder = fs::path(::mkdtemp(name)) / "node";
    }
    ~NodeFolder() override { fs::remove_all(folder.parent_path()); }
    std::string text(const char* name) const {
        std::ostringstream text;
        text << std::ifstream(folder / name).rdbuf();
        return text.str();
    }
    fs::path folder;
    const ServerChoice choice{{"https://10.0.0.5:6443"}};
    const ClusterInfo info{.ca_pem = "CA\n"};
};

TEST_F(NodeFolder, HoldsWhatANodesProgramsNeedAndNobodyElseMayReadTheKey) {
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    EXPECT_EQ(text("ca.crt"), "CA\n");
    EXPECT_EQ(text("client.pem"), "CERT\nKEY\n");
    EXPECT_EQ(fs::status(folder / "client.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
    EXPECT_NE(text("kubeconfig").find("client-key: " + (folder / "client.pem").string()), std::string::npos);
}

TEST_F(NodeFolder, KeepsTheCertificateOfTheKubeletsServerAcrossRestarts) {
    EXPECT_EQ(read_serving_identity(folder).certificate_pem, "");
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    ASSERT_TRUE(write_serving_identity(folder, {"SERVING\n", "-----BEGIN PRIVATE KEY-----\n"}));
    EXPECT_EQ(read_serving_identity(folder).certificate_pem, "SERVING\n");
    EXPECT_EQ(read_serving_identity(folder).key_pem, "-----BEGIN PRIVATE KEY-----\n");
    EXPECT_EQ(fs::status(folder / "serving.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    EXPECT_EQ(read_serving_identity(folder).certificate_pem, "") << "it is not the next cluster's";
}

TEST_F(NodeFolder, TakesANewIdentityInPlaceOfTheOld) {
    ASSERT_TRUE(write_node_folder(folder, choice, info, {"CERT\n", "KEY\n"}));
    ASSERT_TRUE(write_node_identity(folder, {"CERT 2\n", "KEY 2\n"}));
    EXPECT_EQ(text("client.pem"), "CERT 2\nKEY 2\n");
    EXPECT_FALSE(fs::exists(folder / "client.pem.new"));
}

TEST_F(NodeFolder, HasAnIdentityThatIsAcceptedUntilItsAuthorityIsReplacedOrItExpires) {
    const SystemTime now = std::chrono::system_clock::now(), later = now + std::chrono::hours(24);
    const auto authority = [&](const char* name) { return net::CertificateAuthority::create(name, now, later); };
    const auto own = authority("own"), next = authority("next"), namesake = authority("own");
    EXPECT_FALSE(is_accepted_identity("", own.certificate_pem(), now)) << "there is none";
    const auto key = net::PrivateKey::generate();
    const std::string certificate =
        own.issue(key, {.common_name = "system:node:n"}, {.not_before = now, .not_after = later, .for_client = true}).value();
    ASSERT_TRUE(write_node_folder(folder, choice, info, {certificate, key.pem()}));
    const std::string identity = text(IdentityFile);
    EXPECT_TRUE(is_accepted_identity(identity, own.certificate_pem(), now));
    EXPECT_TRUE(is_accepted_identity(identity, next.certificate_pem() + own.certificate_pem(), now)) << "during a rotation";
    EXPECT_FALSE(is_accepted_identity(identity, next.certificate_pem(), now)) << "after it";
    EXPECT_FALSE(is_accepted_identity(identity, namesake.certificate_pem(), now)) << "another of the same name";
    EXPECT_FALSE(is_accepted_identity(identity, own.certificate_pem(), later)) << "expired";
}

}  // namespace
}  // namespace porthole::node_join
