// HTTP and gRPC over real sockets of this machine: TLS, both versions, Unix sockets, lost connections.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <random>

#include "base/result.h"
#include "net/grpc/grpc.h"
#include "net/http/http_client.h"
#include "net/http/http_fixture.h"
#include "net/http/http_server.h"
#include "net/socket.h"
#include "net/tls/x509.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

class SocketHandler final : public TestHandler {
public:
    using TestHandler::TestHandler;

private:
    Task<> answer(HttpRequest request, HttpResponder& responder) override {
        if (request.path == "/who") {
            std::string who = request.http2 ? "h2 " : "h1 ";
            if (const auto& certificate = request.peer.certificate) {
                who += certificate->common_name;
                for (const auto& organization : certificate->organizations) who += "," + organization;
                if (!certificate->of_client) who += " (no client)";
                if (certificate->of_proxy) who += " (proxy)";
            }
            who += request.peer.certificate_error;
            co_return co_await responder.respond(200, {}, {bytes(who)});
        }
        if (request.path == "/hang") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            CO_TRY_VOID(co_await responder.write(bytes("first")));
            co_return co_await loop_.sleep(1h);
        }
        if (request.path == "/big") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            for (int i = 0; i < 100; ++i)
                CO_TRY_VOID(co_await responder.write(bytes(std::string(100'000, static_cast<char>('a' + i % 26)))));
            co_return co_await responder.finish();
        }
        if (request.path == "/upgrade") {
            CO_TRY(auto stream, co_await responder.upgrade({{"connection", "Upgrade"}, {"upgrade", "x"}}));
            std::array<char, 100> buffer;
            CO_TRY(const std::size_t count, co_await stream->read(buffer));
            co_return co_await stream->write({buffer.data(), count});
        }
        CO_TRY(std::string body, co_await responder.read_body());
        co_return co_await responder.respond(200, {}, {bytes(request.method + " "), bytes(std::move(body))});
    }
};

/// A loop that runs one task to its end, with a server beside it.
struct Sockets : testing::Test {
    AsioLoop loop;
    SocketHandler handler{loop};
    Logger log{make_null_sink(), "test"};
    CertificateAuthority ca = authority();
    std::string proxy_ca_pem;

    struct Issued {
        std::string certificate_pem, key_pem;
    };
    Issued issue(const CertificateAuthority& issuer, CertificateSubject subject, Duration end = 1h) {
        const PrivateKey key = PrivateKey::generate();
        const CertificateOptions options{
            .not_before = loop.wall_now() - 2h, .not_after = loop.wall_now() + end, .for_server = true, .for_client = true};
        return {issuer.issue(key, subject, options).value(), key.pem()};
    }
    CertificateAuthority authority() const { return CertificateAuthority::create("ca", loop.wall_now() - 2h, loop.wall_now() + 2h); }
    std::shared_ptr<TlsServerContext> server_tls() {
        const auto own = issue(ca, {.common_name = "server", .dns_names = {"localhost"}, .ip_addresses = {"127.0.0.1"}});
        return TlsServerContext::create({own.certificate_pem, own.key_pem, ca.certificate_pem(), proxy_ca_pem}).value();
    }
    std::shared_ptr<const TlsClientContext> client_tls(TlsClientOptions options = {}) {
        if (options.ca_pem.empty()) options.ca_pem = ca.certificate_pem();
        return TlsClientContext::create(options).value();
    }
    HttpServer& serve(bool tls) {
        server = std::make_unique<HttpServer>(loop, handler, HttpServerOptions{.tls = tls ? server_tls() : nullptr}, log);
        port = server->listen("127.0.0.1", 0).value();
        return *server;
    }
    Endpoint endpoint() const { return {.host = "127.0.0.1", .port = port, .unix_path = ""}; }

    /// Runs `scenario` to its end and closes the server.
    void run(Task<> scenario) {
        const auto result = run_task(loop, then_close(with_timeout(std::move(scenario), 120s, "scenario")));
        EXPECT_TRUE(result) << result.error().message;
    }

    std::unique_ptr<HttpServer> server;
    std::uint16_t port = 0;

private:
    Task<> then_close(Task<> scenario) {
        auto result = co_await std::move(scenario);
        if (server) CO_TRY_VOID(co_await server->close());
        co_return std::move(result);
    }
};

HttpRequest get(std::string path) { return {.method = "GET", .path = std::move(path)}; }

Task<> who(Sockets& test, TlsClientOptions options, std::string expected) {
    HttpClient client(test.loop, test.endpoint(), test.client_tls(options));
    CO_TRY(const auto response, co_await client.send(get("/who")));
    EXPECT_EQ(response.body, expected);
    co_return co_await client.close();
}

TEST_F(Sockets, KnowAClientByItsCertificate) {
    const auto own = issue(ca, {.common_name = "system:node:a", .organizations = {"system:nodes", "other"}});
    serve(true);
    run(who(*this, {.certificate_pem = own.certificate_pem, .key_pem = own.key_pem}, "h2 system:node:a,system:nodes,other"));
}

TEST_F(Sockets, KnowNobodyWithoutACertificate) {
    serve(true);
    run(who(*this, {}, "h2 "));
}

TEST_F(Sockets, SayWhyACertificateDoesNotCount) {
    const auto stranger = issue(authority(), {.common_name = "admin", .organizations = {"system:masters"}});
    const auto expired = issue(ca, {.common_name = "admin"}, -1h);
    serve(true);
    run(who(*this, {.certificate_pem = stranger.certificate_pem, .key_pem = stranger.key_pem},
            "h2 unable to get local issuer certificate"));
    server.reset();
    serve(true);
    run(who(*this, {.certificate_pem = expired.certificate_pem, .key_pem = expired.key_pem}, "h2 certificate has expired"));
}

TEST_F(Sockets, TellClientsFromProxiesByTheirAuthorities) {
    const CertificateAuthority proxies = authority();  // of the same name as the clients'
    proxy_ca_pem = proxies.certificate_pem();
    const auto client = issue(ca, {.common_name = "front-proxy-client"}), proxy = issue(proxies, {.common_name = "front-proxy-client"}),
               stranger = issue(authority(), {.common_name = "front-proxy-client"});
    serve(true);
    run(who(*this, {.certificate_pem = client.certificate_pem, .key_pem = client.key_pem}, "h2 front-proxy-client"));
    server.reset();
    serve(true);
    run(who(*this, {.certificate_pem = proxy.certificate_pem, .key_pem = proxy.key_pem}, "h2 front-proxy-client (no client) (proxy)"));
    server.reset();
    serve(true);
    run(who(*this, {.certificate_pem = stranger.certificate_pem, .key_pem = stranger.key_pem},
            "h2 unable to get local issuer certificate"));
    server.reset();
    proxy_ca_pem = ca.certificate_pem();
    serve(true);
    run(who(*this, {.certificate_pem = client.certificate_pem, .key_pem = client.key_pem}, "h2 front-proxy-client (proxy)"));
}

Task<> crowd(Sockets& test) {
    HttpClient first(test.loop, test.endpoint(), nullptr), second(test.loop, test.endpoint(), nullptr);
    HttpClient third(test.loop, test.endpoint(), nullptr);
    CO_TRY(auto one, co_await first.open(get("/hang")));
    CO_TRY(const auto two, co_await second.open(get("/hang")));
    EXPECT_FALSE(co_await third.send(get("/who")));
    one.reset();
    CO_TRY_VOID(co_await test.handler.was_cancelled.wait());
    Result<HttpResponse> again = Error(Reason::Unavailable, "");
    for (int i = 0; i < 100 && !again; ++i) {  // until the server has seen the connection go
        again = co_await third.send(get("/who"));
        CO_TRY_VOID(co_await test.loop.sleep(10ms));
    }
    EXPECT_TRUE(again);
    CO_TRY_VOID(co_await first.close());
    CO_TRY_VOID(co_await second.close());
    co_return co_await third.close();
}

TEST_F(Sockets, TakeNoMoreConnectionsThanAllowed) {
    server = std::make_unique<HttpServer>(loop, handler, HttpServerOptions{.most_connections = 2}, log);
    port = server->listen("127.0.0.1", 0).value();
    run(crowd(*this));
}

Task<> only_global(Sockets& test, std::string host) {
    HttpClient client(test.loop, {.host = host, .port = test.port, .unix_path = "", .global_only = true}, nullptr);
    const auto refused = co_await client.send(get("/who"));
    EXPECT_FALSE(refused) << host;
    if (!refused) EXPECT_TRUE(refused.error().message.contains("address not allowed")) << refused.error().message;
    co_return co_await client.close();
}

TEST_F(Sockets, ReachNothingOnThisMachineThatMustNotBeReachedByItsNameEither) {
    serve(false);
    // The resolver makes an address of the last three.
    for (const char* host : {"127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost", "127.1", "0x7f000001"}) run(only_global(*this, host));
}

Task<> refused_server(Sockets& test, TlsClientOptions options, std::string message) {
    HttpClient client(test.loop, test.endpoint(), test.client_tls(options));
    const auto response = co_await client.send(get("/who"));
    EXPECT_FALSE(response);
    if (!response) EXPECT_NE(response.error().message.find(message), std::string::npos) << response.error().message;
    co_return co_await client.close();
}

TEST_F(Sockets, RefuseAServerOfAnotherName) {
    serve(true);
    run(refused_server(*this, {.server_name = "kubernetes"}, "certificate not trusted (hostname mismatch): kubernetes"));
}

TEST_F(Sockets, RefuseAServerOfAnotherAuthority) {
    serve(true);
    run(refused_server(*this, {.ca_pem = authority().certificate_pem()}, "certificate not trusted"));
}

Task<> reload(Sockets& test, std::shared_ptr<TlsServerContext> context) {
    HttpClient before(test.loop, test.endpoint(), test.client_tls());
    CO_TRY_VOID(co_await before.send(get("/who")));
    const auto other = test.authority();
    const auto own = test.issue(other, {.common_name = "server", .ip_addresses = {"127.0.0.1"}});
    CO_TRY_VOID(context->reload(own.certificate_pem, own.key_pem));
    EXPECT_FALSE(context->reload(own.certificate_pem, test.ca.key_pem()));  // stays as it was
    HttpClient after(test.loop, test.endpoint(), test.client_tls({.ca_pem = other.certificate_pem()}));
    CO_TRY_VOID(co_await after.send(get("/who")));
    CO_TRY_VOID(co_await before.send(get("/who")));  // on its old connection
    CO_TRY_VOID(co_await before.close());
    co_return co_await after.close();
}

TEST_F(Sockets, TakeANewCertificateWithoutALostConnection) {
    auto context = server_tls();
    server = std::make_unique<HttpServer>(loop, handler, HttpServerOptions{.tls = context}, log);
    port = server->listen("127.0.0.1", 0).value();
    run(reload(*this, context));
}

Task<> big_both_ways(Sockets& test, std::shared_ptr<const TlsClientContext> tls) {
    HttpClient client(test.loop, test.endpoint(), tls);
    CO_TRY(const auto big, co_await client.send(get("/big")));
    EXPECT_EQ(big.body.size(), 10'000'000u);
    EXPECT_EQ(big.body.substr(99'999, 2), "ab");
    CO_TRY(const auto echo, co_await client.send({.method = "POST", .path = "/", .body = std::string(2'000'000, 'x')}));
    EXPECT_EQ(echo.body.size(), 2'000'005u);
    CO_TRY(const auto refused, co_await client.send({.method = "POST", .path = "/", .body = std::string(4'000'000, 'x')}));
    EXPECT_EQ(refused.code, 413);
    CO_TRY(const auto head, co_await client.send({.method = "HEAD", .path = "/who"}));
    EXPECT_EQ(head.body, "");
    CO_TRY(const auto again, co_await client.send(get("/who")));
    EXPECT_EQ(again.code, 200);
    co_return co_await client.close();
}

TEST_F(Sockets, CarryLargeBodiesOverHttp2) {
    serve(true);
    run(big_both_ways(*this, client_tls()));
}

TEST_F(Sockets, CarryLargeBodiesOverHttp1) {
    serve(false);
    run(big_both_ways(*this, nullptr));
}

Task<> many(Sockets& test) {
    HttpClient client(test.loop, test.endpoint(), test.client_tls());
    std::vector<Task<HttpResponse>> requests;
    for (int i = 0; i < 600; ++i) requests.push_back(client.send({.method = "POST", .path = "/", .body = std::to_string(i)}));
    CO_TRY(const auto responses, co_await when_all(std::move(requests)));
    for (int i = 0; i < 600; ++i) EXPECT_EQ(responses[i].value().body, "POST " + std::to_string(i));
    co_return co_await client.close();
}

TEST_F(Sockets, AnswerHundredsOfRequestsAtATime) {
    serve(true);
    run(many(*this));
}

Task<> leave(Sockets& test, std::shared_ptr<const TlsClientContext> tls) {
    HttpClient client(test.loop, test.endpoint(), tls);
    {
        CO_TRY(const auto body, co_await client.open(get("/hang")));
        CO_TRY(const auto piece, co_await body->next());
        EXPECT_EQ(piece, "first");
    }
    CO_TRY_VOID(co_await test.handler.was_cancelled.wait());
    co_return co_await client.close();
}

TEST_F(Sockets, CancelAHandlerWhenItsRequestIsDroppedOverHttp2) {
    serve(true);
    run(leave(*this, client_tls()));
}

TEST_F(Sockets, CancelAHandlerWhenItsRequestIsDroppedOverHttp1) {
    serve(false);
    run(leave(*this, nullptr));
}

Task<> lose_server(Sockets& test, std::shared_ptr<const TlsClientContext> tls) {
    HttpClient client(test.loop, test.endpoint(), tls);
    CO_TRY(const auto body, co_await client.open(get("/hang")));
    CO_TRY(const auto piece, co_await body->next());
    CO_TRY(const auto first, co_await client.send(get("/who")));
    CO_TRY_VOID(co_await test.server->close());
    const auto cut = co_await body->next();
    EXPECT_FALSE(cut);
    test.server.reset();
    const auto refused = co_await client.send(get("/who"));
    EXPECT_EQ(refused.error().message, "connection refused: 127.0.0.1:" + std::to_string(test.port));
    EXPECT_EQ(refused.error().reason, Reason::Unavailable);

    test.server =
        std::make_unique<HttpServer>(test.loop, test.handler, HttpServerOptions{.tls = tls ? test.server_tls() : nullptr}, test.log);
    CO_TRY_VOID(test.server->listen("127.0.0.1", test.port));
    CO_TRY(const auto again, co_await client.send(get("/who")));
    EXPECT_EQ(again.code, 200);
    co_return co_await client.close();
}

TEST_F(Sockets, ReconnectAfterTheServersRestartOverHttp2) {
    serve(true);
    run(lose_server(*this, client_tls()));
}

TEST_F(Sockets, ReconnectAfterTheServersRestartOverHttp1) {
    serve(false);
    run(lose_server(*this, nullptr));
}

Task<> upgrade(Sockets& test) {
    HttpClient client(test.loop, test.endpoint(), test.client_tls());
    HttpRequest request = get("/upgrade");
    request.headers = {{"connection", "Upgrade"}, {"upgrade", "x"}};
    CO_TRY(auto upgraded, co_await client.upgrade(request));
    EXPECT_EQ(upgraded.response.code, 101);
    CO_TRY_VOID(co_await upgraded.stream->write("ping"));
    std::array<char, 10> buffer;
    CO_TRY(const std::size_t count, co_await upgraded.stream->read(buffer));
    EXPECT_EQ(std::string(buffer.data(), count), "ping");
    request.path = "/who";
    CO_TRY(auto plain, co_await client.upgrade(request));
    EXPECT_EQ(plain.response.code, 200);
    EXPECT_EQ(plain.response.body, "h1 ");
    EXPECT_FALSE(plain.stream);
    request.path = "/big";
    CO_TRY(auto endless, co_await client.upgrade(request));
    EXPECT_EQ(endless.response.code, 200);
    EXPECT_EQ(endless.response.body.size(), 64u << 10) << "of a refusal only the beginning is read";
    co_return co_await client.close();
}

TEST_F(Sockets, UpgradeOnAConnectionOfTheirOwn) {
    serve(true);
    run(upgrade(*this));
}

TEST_F(Sockets, ReportAPortInUse) {
    HttpServer& first = serve(false);
    (void)first;
    HttpServer second(loop, handler, {}, log);
    const Error taken = second.listen("127.0.0.1", port).error();
    EXPECT_EQ(taken.reason, Reason::AlreadyExists);
    EXPECT_TRUE(taken.message.ends_with(": address already in use")) << taken.message;
    EXPECT_EQ(second.listen("localhost", 0).error().reason, Reason::BadRequest);
    run([]() -> Task<> { co_return {}; }());
}

// gRPC

class TestService {
public:
    explicit TestService(EventLoop& loop) : loop_(loop) {
        handler.add("/test/Echo", [](std::string request) { return echo(std::move(request)); });
        handler.add("/test/Fail", [](std::string) { return fail(Reason::NotFound); });
        handler.add("/test/Break", [](std::string) { return fail(Reason::Io); });
        handler.add("/test/Hang", [this](std::string) { return hang(); });
        handler.add_streaming("/test/Count", [](std::string request, GrpcWriter& writer) { return count(std::move(request), writer); });
    }
    GrpcHandler handler;

private:
    static Task<std::string> echo(std::string request) { co_return request; }
    static Task<std::string> fail(Reason reason) { co_return Error(reason, "no <100%> match"); }
    Task<std::string> hang() {
        CO_TRY_VOID(co_await loop_.sleep(1h));
        co_return "";
    }
    static Task<> count(std::string request, GrpcWriter& writer) {
        for (int i = 0; i < 5; ++i) CO_TRY_VOID(co_await writer.write(request + std::to_string(i)));
        co_return Error(Reason::Conflict, "enough");
    }
    EventLoop& loop_;
};

Task<> grpc_calls(Sockets& test, Endpoint endpoint) {
    GrpcChannel channel(test.loop, endpoint);
    CO_TRY(const auto echo, co_await channel.call("/test/Echo", "hello"));
    EXPECT_EQ(echo, "hello");
    CO_TRY(const auto empty, co_await channel.call("/test/Echo", ""));
    EXPECT_EQ(empty, "");
    CO_TRY(const auto big, co_await channel.call("/test/Echo", std::string(20'000'000, 'b')));
    EXPECT_EQ(big, std::string(20'000'000, 'b'));
    const auto failed = co_await channel.call("/test/Fail", "");
    EXPECT_EQ(failed.error().reason, Reason::NotFound);
    EXPECT_EQ(failed.error().message, "no <100%> match");
    EXPECT_EQ(grpc_status_of(failed.error()), GrpcStatus::NotFound);
    EXPECT_EQ(grpc_status_of((co_await channel.call("/test/Break", "")).error()), GrpcStatus::Unknown);
    EXPECT_EQ(grpc_status_of((co_await channel.call("/test/None", "")).error()), GrpcStatus::Unimplemented);
    EXPECT_EQ((co_await channel.call("/test/Hang", "", 50ms)).error().reason, Reason::Timeout);
    CO_TRY(const auto stream, co_await channel.open("/test/Count", "n"));
    std::string all;
    for (;;) {
        auto message = co_await stream->next();
        if (!message) {
            EXPECT_EQ(message.error().reason, Reason::Conflict);
            break;
        }
        all += message->value();
    }
    EXPECT_EQ(all, "n0n1n2n3n4");
    co_return co_await channel.close();
}

constexpr bool IsWindows = std::filesystem::path::preferred_separator == '\\';

/// Where programs of one machine meet: a Unix socket, or a named pipe.
std::string local_path() {
    const std::string name = "porthole-grpc-" + std::to_string(std::random_device()());
    return IsWindows ? "\\\\.\\pipe\\" + name : testing::TempDir() + "/" + name + ".sock";
}

TEST_F(Sockets, CarryGrpcOverALocalSocket) {
    TestService service(loop);
    const std::string path = local_path();
    server = std::make_unique<HttpServer>(loop, service.handler, HttpServerOptions{.body_limit = 32 << 20}, log);
    ASSERT_TRUE(server->listen_unix(path));
    run(grpc_calls(*this, {.host = "", .port = 0, .unix_path = path}));
}

Task<> no_grpc_server(Sockets& test) {
    const std::string path = IsWindows ? "\\\\.\\pipe\\none" : "/nonexistent/a.sock";
    GrpcChannel channel(test.loop, {.host = "", .port = 0, .unix_path = path});
    const auto failed = co_await channel.call("/test/Echo", "");
    EXPECT_EQ(failed.error().reason, Reason::Unavailable);
    EXPECT_EQ(failed.error().message, (IsWindows ? "no such pipe: " : "no such file or directory: ") + path);
    co_return {};
}

TEST_F(Sockets, SayWhatIsMissing) { run(no_grpc_server(*this)); }

}  // namespace
}  // namespace porthole::net
