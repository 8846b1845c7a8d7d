#include "node_join/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/certificates_v1.h"
#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "net/tls/x509.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

using namespace std::chrono_literals;
using api::certificates::v1::CertificateSigningRequest;
using testing::AllOf;
using testing::Ge;
using testing::Le;

/// The fake API, which says what version it is.
struct VersionedApi final : client::Transport {
    explicit VersionedApi(client::Transport& api) : api(api) {}
    Task<client::ApiResponse> call(client::ApiRequest request) override {
        if (request.path != "/version") co_return co_await api.call(std::move(request));
        co_return client::ApiResponse{200, std::make_shared<const std::string>(R"({"gitVersion":")" + version + R"("})")};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return api.watch(std::move(request)); }
    client::Transport& api;
    std::string version;
};

struct NodeCertificate : testing::Test {
    ~NodeCertificate() override {
        EXPECT_TRUE(sim::run(loop, scope.close()));
        loop.run_ready();
    }
    std::string certificate(Duration life) {
        const auto now = loop.wall_now();
        return *ca.issue(net::PrivateKey::generate(), {.common_name = "system:node:a", .organizations = {"system:nodes"}},
                         {.not_before = now, .not_after = now + life, .for_client = true});
    }
    /// The cluster's signer.
    void sign_all(Duration life) {
        for (const auto& request : api.list<CertificateSigningRequest>())
            if (request.status.certificate.empty())
                api.change<CertificateSigningRequest>(client::key_of(request), [&](CertificateSigningRequest& request) {
                    const auto parsed = *net::parse_certificate_request(request.spec.request);
                    const auto now = loop.wall_now();
                    request.status.certificate =
                        *ca.issue(parsed.public_der, parsed.subject, {.not_before = now, .not_after = now + life, .for_client = true});
                });
        loop.advance(1s);
    }
    void start(Duration life) { scope.spawn(renewal.run(certificate(life))); }
    /// Minutes until there is another request, which waits for its certificate for a minute only; -1: there was none within two hours.
    int minutes_to_next_request() {
        const MonotonicTime begin = loop.now();
        for (const std::size_t before = requests(); requests() == before; loop.advance(1s))
            if (loop.now() - begin > 2h) return -1;
        return static_cast<int>((loop.now() - begin) / 1min);
    }
    void put_node(const char* address) {
        api::core::v1::Node node;
        node.metadata.name = "a";
        node.status.addresses = {{.type = "InternalIP", .address = address}, {.type = "Hostname", .address = "a"}};
        api.put(node);
    }
    void set_version(std::string version) { server.version = std::move(version); }
    std::function<Result<void>(const KeyPair&)> keep() {
        return [this](const KeyPair& pair) -> Result<void> {
            used.push_back(pair);
            return {};
        };
    }
    std::size_t requests() { return api.list<CertificateSigningRequest>().size(); }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    VersionedApi server{api};
    client::Client client{server};
    SeededRandom random{1};
    net::CertificateAuthority ca = net::CertificateAuthority::create("ca", loop.wall_now() - 1h, loop.wall_now() + 24h * 3650);
    std::vector<KeyPair> used;
    CertificateRenewal renewal{{loop, client, random, Logger(make_null_sink(), "test")}, "a", keep()};
    Scope scope{loop};
};

// SEC-16
TEST_F(NodeCertificate, IsRenewedAfterTwoThirdsOfItsLifeAgainAndAgain) {
    start(90min);
    EXPECT_THAT(minutes_to_next_request(), AllOf(Ge(60), Le(69))) << "two thirds, and up to a tenth more";
    ASSERT_EQ(requests(), 1u);
    const auto request = api.list<CertificateSigningRequest>()[0];
    EXPECT_EQ(request.spec.signer_name, "kubernetes.io/kube-apiserver-client-kubelet");
    EXPECT_EQ(net::parse_certificate_request(request.spec.request)->subject.common_name, "system:node:a");
    EXPECT_THAT(request.spec.usages, testing::UnorderedElementsAre("digital signature", "key encipherment", "client auth"))
        << "upstream 1.20 approves nothing else";
    sign_all(90min);
    ASSERT_EQ(used.size(), 1u);
    EXPECT_TRUE(net::CertificateAuthority::load(used[0].certificate_pem, used[0].key_pem)) << "they belong together";
    EXPECT_THAT(minutes_to_next_request(), AllOf(Ge(59), Le(69)));
}

TEST_F(NodeCertificate, IsAskedForAgainWhenTheClusterDoesNotAnswer) {
    api.set_fault([](const client::ApiRequest&) { return std::optional(Error(Reason::Unavailable, "down")); });
    start(90min);
    loop.advance(75min);
    EXPECT_EQ(requests(), 0u);
    api.set_fault({});
    EXPECT_THAT(minutes_to_next_request(), AllOf(Ge(0), Le(15)));
    sign_all(90min);
    EXPECT_EQ(used.size(), 1u);
}

TEST_F(NodeCertificate, IsAskedForAgainWhenNobodyApproves) {
    start(90min);
    EXPECT_GT(minutes_to_next_request(), 0);
    EXPECT_THAT(minutes_to_next_request(), AllOf(Ge(1), Le(2)));
    sign_all(90min);
    EXPECT_EQ(used.size(), 1u) << "what came too late is not used";
}

TEST_F(NodeCertificate, SaysWhoRefusedIt) {
    auto asked = request_node_certificate(loop, client, "a");
    std::optional<Result<KeyPair>> answer;
    scope.spawn([](Task<KeyPair> task, std::optional<Result<KeyPair>>& into) -> Task<> {
        into = co_await std::move(task);
        co_return {};
    }(std::move(asked), answer));
    loop.advance(1s);
    api.change<CertificateSigningRequest>(client::key_of(api.list<CertificateSigningRequest>().at(0)), [](auto& request) {
        request.status.conditions.push_back({.type = "Denied", .status = "True", .message = "not you"});
    });
    loop.advance(1s);
    ASSERT_TRUE(answer.has_value());
    ASSERT_FALSE(*answer);
    EXPECT_EQ(answer->error().message, "the cluster refused the node: not you");
}

TEST_F(NodeCertificate, ForServingIsAskedForOnceTheNodeHasAddresses) {
    set_version("v1.36.0+porthole-1");
    scope.spawn(serve_with_issued_certificates({loop, client, random, Logger(make_null_sink(), "test")}, "a", {}, keep()));
    loop.advance(10s);
    EXPECT_EQ(requests(), 0u);
    put_node("10.0.0.1");
    loop.advance(20s);
    ASSERT_EQ(requests(), 1u);
    const auto request = api.list<CertificateSigningRequest>()[0];
    EXPECT_EQ(request.spec.signer_name, "kubernetes.io/kubelet-serving");
    const auto subject = net::parse_certificate_request(request.spec.request)->subject;
    EXPECT_EQ(subject.common_name, "system:node:a");
    EXPECT_EQ(subject.dns_names, std::vector<std::string>{"a"});
    EXPECT_EQ(subject.ip_addresses, std::vector<std::string>{"10.0.0.1"});
    sign_all(90min);
    EXPECT_EQ(used.size(), 1u);
    EXPECT_THAT(minutes_to_next_request(), AllOf(Ge(59), Le(69))) << "and renewed";
}

TEST_F(NodeCertificate, ForServingThatIsKeptIsUsedAgainUntilItExpiresOrTheNodeHasAnotherAddress) {
    set_version("v1.36.0+porthole-1");
    put_node("10.0.0.1");
    scope.spawn(serve_with_issued_certificates({loop, client, random, Logger(make_null_sink(), "test")}, "a", {}, keep()));
    loop.advance(2s);
    sign_all(90min);
    ASSERT_EQ(used.size(), 1u);
    const KeyPair kept = used[0];

    Scope second(loop);
    const auto restart = [&] {
        second.spawn(serve_with_issued_certificates({loop, client, random, Logger(make_null_sink(), "test")}, "a", kept, keep()));
        loop.advance(5s);
    };
    restart();
    EXPECT_EQ(requests(), 1u) << "nothing is asked for";
    EXPECT_EQ(used.size(), 2u);
    EXPECT_EQ(used.back().certificate_pem, kept.certificate_pem);

    put_node("10.0.0.2");
    restart();
    EXPECT_EQ(requests(), 2u);
    EXPECT_TRUE(sim::run(loop, second.close()));
}

TEST_F(NodeCertificate, ForServingIsNotAskedOfAClusterWhereNothingWouldApproveIt) {
    set_version("v1.36.0");
    scope.spawn(serve_with_issued_certificates({loop, client, random, Logger(make_null_sink(), "test")}, "a", {}, keep()));
    loop.advance(1h);
    EXPECT_EQ(requests(), 0u);
}

TEST_F(NodeCertificate, ForServingIsAskedForWhenTheClusterIsTakenOver) {
    set_version("v1.36.0");
    put_node("10.0.0.1");
    scope.spawn(serve_with_issued_certificates({loop, client, random, Logger(make_null_sink(), "test")}, "a", {}, keep()));
    loop.advance(1h);
    ASSERT_EQ(requests(), 0u);
    set_version("v1.36.0+porthole-1");
    loop.advance(11min);
    EXPECT_EQ(requests(), 1u);
}

}  // namespace
}  // namespace porthole::node_join
