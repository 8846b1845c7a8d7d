#include "apiserver/subresources/connector.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "net/http/http_server.h"
#include "net/tls/x509.h"
#include "runtime/run_task.h"

using namespace std::chrono_literals;

namespace porthole::apiserver {
namespace {

class Greeter final : public net::HttpHandler {
public:
    explicit Greeter(EventLoop& loop) : loop_(loop) {}
    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override {
        CO_TRY_VOID(co_await responder.start(200, {}));
        CO_TRY_VOID(co_await responder.write(std::make_shared<const std::string>("hello")));
        if (request.path == "/slow") CO_TRY_VOID(co_await loop_.sleep(1h));
        co_return co_await responder.finish();
    }

private:
    EventLoop& loop_;
};

std::size_t open_files() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

/// Every address of 127.0.0.0/8 is this machine, so that one server is many targets.
Task<> ask_many(AsioLoop& loop, Connector& connector, std::uint16_t port) {
    const auto target = [&](int i) {
        return ConnectTarget{.host = "127.0." + std::to_string(i / 200) + "." + std::to_string(i % 200 + 1),
                             .port = port,
                             .security = ConnectTarget::Security::Plain};
    };
    CO_TRY(const auto slow, co_await connector.open(target(0), {.method = "GET", .path = "/slow"}));
    EXPECT_EQ(*co_await slow->next(), "hello");
    const std::size_t before = open_files();
    for (int i = 1; i < 600; ++i) {
        CO_TRY(const auto answer, co_await connector.open(target(i), {.method = "GET", .path = "/"}));
        for (;;) {
            CO_TRY(const auto piece, co_await answer->next());
            if (!piece) break;
        }
    }
    for (int i = 0; i < 6000 && open_files() > before + 2 * 256; ++i) CO_TRY_VOID(co_await loop.sleep(10ms));
    EXPECT_LE(open_files(), before + 2 * 256) << "both ends of each connection are ours";
    auto next = co_await with_timeout(slow->next(), 50ms, "more");
    EXPECT_EQ(next.error().reason, Reason::Timeout) << "what is under way is not cut off";
    co_return co_await connector.close();
}

Task<> then_stop(AsioLoop& loop, Connector& connector, net::HttpServer& server, std::uint16_t port) {
    auto asked = co_await ask_many(loop, connector, port);
    EXPECT_TRUE(asked) << asked.error().message;
    CO_TRY_VOID(co_await server.close());
    loop.stop();
    co_return {};
}

TEST(Connector, KeepsNoEndlessNumberOfConnections) {
    AsioLoop loop;
    Greeter greeter(loop);
    net::HttpServer server(loop, greeter, {}, Logger(make_null_sink(), "test"));
    const auto port = server.listen("0.0.0.0", 0);
    ASSERT_TRUE(port) << port.error().message;
    const auto connector = make_connector(loop, {}, nullptr, Logger(make_null_sink(), "test"));
    TaskContext context(loop);
    start_task(then_stop(loop, *connector, server, *port), context, [](Result<void>) {});
    loop.run();
}

/// A kubelet on this machine, whose certificate can be replaced, and a connector that knows one authority.
struct KubeletWorld {
    explicit KubeletWorld(const char* issuer) {
        const auto listening = server.listen("127.0.0.1", 0);
        EXPECT_TRUE(listening);
        target.port = *listening;
        serve(issuer);
    }
    net::CertificateAuthority& authority(const std::string& name) { return name == "kubelets" ? kubelets : others; }
    void serve(const std::string& issuer) {
        const net::PrivateKey key = net::PrivateKey::generate();
        const auto issued = authority(issuer).issue(key, {.common_name = "system:node:a", .ip_addresses = {"127.0.0.1"}},
                                                    {.not_before = now - 1h, .not_after = now + 1h, .for_server = true});
        EXPECT_TRUE(tls->reload(*issued, key.pem()));
    }
    KubeletTls kubelet_tls(bool transition) {
        KubeletTls made{.verified = *net::TlsClientContext::create({.ca_pem = kubelets.certificate_pem()})};
        if (transition) made.unverified = *net::TlsClientContext::create({.insecure_skip_verify = true});
        return made;
    }
    /// What the kubelet says, or why it was not asked.
    Task<std::string> ask(Connector& connector) {
        auto answer = co_await connector.open(target, {.method = "GET", .path = "/"});
        if (!answer) co_return answer.error().message;
        CO_TRY(const auto piece, co_await (*answer)->next());
        co_return piece.value_or("");
    }
    void run(Task<> (*test)(KubeletWorld&)) {
        const auto done = run_task(loop, test(*this));
        EXPECT_TRUE(done) << done.error().message;
    }

    AsioLoop loop;
    const SystemTime now = loop.wall_now();
    net::CertificateAuthority kubelets = net::CertificateAuthority::create("kubelets", now - 1h, now + 24h);
    net::CertificateAuthority others = net::CertificateAuthority::create("others", now - 1h, now + 24h);
    const net::PrivateKey first = net::PrivateKey::generate();
    std::shared_ptr<net::TlsServerContext> tls = *net::TlsServerContext::create(
        {.certificate_pem = *others.issue(first, {}, {.not_before = now, .not_after = now + 1h}), .key_pem = first.pem()});
    Greeter greeter{loop};
    net::HttpServer server{loop, greeter, {.tls = tls}, Logger(make_null_sink(), "test")};
    ConnectTarget target{.host = "127.0.0.1", .security = ConnectTarget::Security::Kubelet};
};

TEST(Connector, AsksNoKubeletOfAnotherAuthority) {
    KubeletWorld world("others");
    world.run([](KubeletWorld& world) -> Task<> {
        const auto connector = make_connector(world.loop, world.kubelet_tls(false), nullptr, Logger(make_null_sink(), "test"));
        CO_TRY(const std::string refused, co_await world.ask(*connector));
        EXPECT_NE(refused.find("certificate not trusted"), refused.npos) << refused;
        world.serve("kubelets");
        CO_TRY(const std::string answered, co_await world.ask(*connector));
        EXPECT_EQ(answered, "hello");
        CO_TRY_VOID(co_await connector->close());
        co_return co_await world.server.close();
    });
}

TEST(Connector, InTheTransitionAsksAKubeletUntilItHasShownAGoodCertificate) {
    KubeletWorld world("others");
    world.run([](KubeletWorld& world) -> Task<> {
        const auto connector = make_connector(world.loop, world.kubelet_tls(true), nullptr, Logger(make_null_sink(), "test"));
        CO_TRY(const std::string unverified, co_await world.ask(*connector));
        EXPECT_EQ(unverified, "hello");
        world.serve("kubelets");
        CO_TRY(const std::string verified, co_await world.ask(*connector));
        EXPECT_EQ(verified, "hello");
        world.serve("others");
        connector->use_kubelet_tls(world.kubelet_tls(true));  // so that no earlier connection is used
        CO_TRY(const std::string refused, co_await world.ask(*connector));
        EXPECT_NE(refused.find("certificate not trusted"), refused.npos) << refused;
        CO_TRY_VOID(co_await connector->close());
        co_return co_await world.server.close();
    });
}

}  // namespace
}  // namespace porthole::apiserver
