#include <gtest/gtest.h>

#include "apiserver/outgoing/outgoing_client.h"
#include "net/http/http_server.h"
#include "net/tls/x509.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"

using namespace std::chrono_literals;

namespace porthole::apiserver {
namespace {

/// "/huge" never ends, "/slow" does not begin, all else tells what it was asked.
class Servant final : public net::HttpHandler {
public:
    explicit Servant(EventLoop& loop) : loop_(loop) {}
    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override {
        if (request.path.ends_with("/slow")) CO_TRY_VOID(co_await loop_.sleep(1h));
        if (request.path.ends_with("/huge")) {
            CO_TRY_VOID(co_await responder.start(200, {}));
            for (;;) CO_TRY_VOID(co_await responder.write(std::make_shared<const std::string>(std::string(16 << 10, 'x'))));
        }
        std::string text = request.method + " " + request.path + " " + std::string(request.headers.get("authorization"));
        co_return co_await responder.respond(200, {}, {std::make_shared<const std::string>(std::move(text))});
    }

private:
    EventLoop& loop_;
};

struct Asked {
    std::string plain, slow, huge, untrusted, listed;
};

Task<> ask(OutgoingClients& clients, const std::string& url, const std::string& ca_pem, const std::string& own_pem, Asked& asked) {
    const auto text = [](const Result<net::HttpResponse>& answer) {
        return answer ? answer->body : std::string(to_string(answer.error().reason)) + ": " + answer.error().message;
    };
    CO_TRY(const auto client, clients.open({.server = url + "/base", .ca_pem = ca_pem, .token = "secret"}));
    asked.plain = text(co_await client->send({.method = "GET", .path = "/x"}, {.time = 60s}));
    asked.slow = text(co_await client->send({.method = "GET", .path = "/slow"}, {.time = 50ms}));
    asked.huge = text(co_await client->send({.method = "GET", .path = "/huge"}, {.time = 60s, .answer_bytes = 100'000}));
    CO_TRY(const auto stranger, clients.open({.server = url}));
    asked.untrusted = text(co_await stranger->send({.method = "GET", .path = "/x"}, {.time = 60s}));
    CO_TRY(const auto acquaintance, clients.open({.server = url, .ca_pem = own_pem}));
    asked.listed = text(co_await acquaintance->send({.method = "GET", .path = "/x"}, {.time = 60s}));
    CO_TRY_VOID(co_await clients.close());
    EXPECT_EQ(clients.open({.server = url}).error().reason, Reason::Unavailable) << "nobody would close it";
    co_return {};
}

Task<> ask_and_stop(AsioLoop& loop, net::HttpServer& server, OutgoingClients& clients, std::string url, std::string ca_pem,
                    std::string own_pem, Asked& asked) {
    auto outcome = co_await ask(clients, url, ca_pem, own_pem, asked);
    EXPECT_TRUE(outcome) << outcome.error().message;
    CO_TRY_VOID(co_await server.close());
    loop.stop();
    co_return {};
}

TEST(OutgoingClients, AreBoundedInTimeAndSizeAndTrustOnlyTheirAuthority) {
    AsioLoop loop;
    Servant servant(loop);
    const SystemTime begin = loop.wall_now() - 1h, end = loop.wall_now() + 1h;
    const auto authority = net::CertificateAuthority::create("test", begin, end);
    const auto key = net::PrivateKey::generate();
    const auto certificate = authority.issue(key, {.common_name = "s", .organizations = {}, .dns_names = {}, .ip_addresses = {"127.0.0.1"}},
                                             {.not_before = begin, .not_after = end, .for_server = true});
    ASSERT_TRUE(certificate) << certificate.error().message;
    auto tls = net::TlsServerContext::create({.certificate_pem = *certificate, .key_pem = key.pem()});
    ASSERT_TRUE(tls);
    net::HttpServer server(loop, servant, {.tls = *tls}, Logger(make_null_sink(), "test"));
    const auto port = server.listen("127.0.0.1", 0);
    ASSERT_TRUE(port);
    const auto files = make_file_system();
    const auto clients = make_outgoing_clients(loop, *files);
    Asked asked;
    Scope scope(loop);
    scope.spawn(ask_and_stop(loop, server, *clients, "https://127.0.0.1:" + std::to_string(*port), authority.certificate_pem(),
                             *certificate, asked));
    loop.run();
    EXPECT_EQ(asked.plain, "GET /base/x Bearer secret");
    EXPECT_TRUE(asked.slow.starts_with("Timeout: ")) << asked.slow;
    EXPECT_TRUE(asked.huge.starts_with("RequestEntityTooLarge: the answer is longer than 100000 bytes")) << asked.huge;
    EXPECT_NE(asked.untrusted.find("certificate not trusted"), std::string::npos) << asked.untrusted;
    EXPECT_EQ(asked.listed, "GET /x ") << "a server's own certificate, though another authority has signed it";
}

}  // namespace
}  // namespace porthole::apiserver
