// Which servers are reached through a proxy, and how: the tunnel in memory, then a proxy and a server on this machine.
#include "net/http/proxy.h"

#include <gtest/gtest.h>

#include <array>

#include "base/result.h"
#include "net/http/http_client.h"
#include "net/http/http_fixture.h"
#include "net/http/http_server.h"
#include "net/http/relay.h"
#include "net/memory_stream.h"
#include "runtime/asio_loop.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

// JOI-14
TEST(ProxySettings, JOI14_ExceptionsAreGos) {
    struct {
        const char *name, *no_proxy, *host;
        std::uint16_t port;
        bool exempt;
    } const rows[] = {
        {"no exception", "", "10.0.0.1", 443, false},
        {"localhost", "", "LOCALHOST", 443, true},
        {"loopback", "", "127.8.9.1", 443, true},
        {"loopback of IPv6", "", "::1", 443, true},
        {"loopback of IPv4 in IPv6", "", "::ffff:127.0.0.1", 443, true},
        {"all", "example.com,*", "10.0.0.1", 443, true},
        {"an address", "10.0.0.1", "10.0.0.1", 443, true},
        {"another address", "10.0.0.1", "10.0.0.10", 443, false},
        {"an address and its port", "10.0.0.1:6443", "10.0.0.1", 6443, true},
        {"an address and another port", "10.0.0.1:6443", "10.0.0.1", 443, false},
        {"a range", " 10.96.0.0/12 , x", "10.111.1.1", 443, true},
        {"outside of a range", "10.96.0.0/12", "10.112.0.0", 443, false},
        {"a range does not match names", "10.96.0.0/12", "ten.example.com", 443, false},
        {"an address of IPv6", "[fd00::1]:443", "fd00::1", 443, true},
        {"a range of IPv6", "fd00::/8", "fd12::1", 443, true},
        {"a name", "Example.COM", "example.com", 443, true},
        {"its subdomains", "example.com", "a.b.EXAMPLE.com", 443, true},
        {"what only ends alike", "example.com", "notexample.com", 443, false},
        {"subdomains alone", ".example.com", "example.com", 443, false},
        {"subdomains alone", ".example.com", "a.example.com", 443, true},
        {"with an asterisk", "*.svc", "web.default.svc", 443, true},
        {"a name and its port", "example.com:8443", "example.com", 8443, true},
        {"a name and another port", "example.com:8443", "example.com", 443, false},
        {"what nobody understands", ":80,[,exa mple.com,10.0.0.0/99,:", "10.0.0.1", 443, false},
    };
    for (const auto& row : rows) {
        const ProxySettings settings("", "proxy:3128", row.no_proxy);
        EXPECT_EQ(settings.is_exempt(row.host, row.port), row.exempt) << row.name;
        EXPECT_EQ(settings.find(true, row.host, row.port).has_value(), !row.exempt) << row.name;
    }
}

// JOI-14
TEST(ProxySettings, JOI14_AProxyIsAUrlOrHostAndPort) {
    struct {
        const char *text, *proxy, *authorization;
    } const rows[] = {
        {"http://proxy.example.com:3128/", "http://proxy.example.com:3128", ""},
        {"proxy.example.com", "http://proxy.example.com:80", ""},
        {"HTTPS://proxy", "https://proxy:443", ""},
        {"http://[fd00::1]:8080", "http://[fd00::1]:8080", ""},
        {"http://jane:p%40ss@proxy:1", "http://proxy:1", "Basic amFuZTpwQHNz"},
        {"socks5://proxy", "socks5://proxy:1080", ""},
        {"", "", ""},
        {"http://:80", "", ""},
        {"http://proxy:http", "", ""},
        {"pro xy", "", ""},
        {"ht\rtp://proxy", "", ""},
        {"://proxy", "", ""},
    };
    for (const auto& row : rows) {
        const auto proxy = ProxySettings("", row.text, "").find(true, "example.com", 443);
        EXPECT_EQ(proxy ? proxy->to_string() : "", row.proxy) << row.text;
        EXPECT_EQ(proxy ? proxy->authorization : "", row.authorization) << row.text;
    }
}

TEST(ProxySettings, EachSchemeHasItsProxy) {
    const ProxySettings settings("plain:1", "secure:2", "");
    EXPECT_EQ(settings.find(false, "example.com", 80)->host, "plain");
    EXPECT_EQ(settings.find(true, "example.com", 443)->host, "secure");
    EXPECT_FALSE(ProxySettings("plain:1", "", "").find(true, "example.com", 443)) << "as with Go";
    EXPECT_TRUE(ProxySettings().empty());
}

TEST(ProxySettings, ListsAreCompletedOnce) {
    EXPECT_EQ(add_exceptions(" a , b,", {"b", "", "10.0.0.0/8", "c"}), "a,b,10.0.0.0/8,c");
    EXPECT_EQ(add_exceptions("", {"a"}), "a");
}

/// A proxy that says `answer` to what it is asked, and the tunnel through it.
struct Tunnel : testing::Test {
    Task<> answer(std::string text) {
        std::array<char, 4096> buffer;
        CO_TRY(const std::size_t count, co_await far->read(buffer));
        asked.assign(buffer.data(), count);
        co_return co_await far->write(text);
    }
    Result<std::unique_ptr<ByteStream>> open(std::string text, std::string authorization = "") {
        auto [near, proxy] = make_memory_stream_pair();
        far = std::move(proxy);
        scope.spawn(answer(std::move(text)));
        return sim::run(loop, open_tunnel(loop, std::move(near), {"http", "proxy", 3128, authorization}, "10.0.0.1:6443"));
    }
    ~Tunnel() override { EXPECT_TRUE(sim::run(loop, scope.close())); }

    sim::SimLoop loop;
    Scope scope{loop};
    std::unique_ptr<ByteStream> far;
    std::string asked;
};

TEST_F(Tunnel, CarriesBytesOnceTheProxyAgrees) {
    const auto stream = open("HTTP/1.1 200 Connection established\r\nContent-Length: 7\r\n\r\nhello");
    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_EQ(asked, "CONNECT 10.0.0.1:6443 HTTP/1.1\r\nhost: 10.0.0.1:6443\r\n\r\n");
    std::array<char, 16> buffer;
    EXPECT_EQ(sim::run(loop, (*stream)->read(buffer)).value(), 5u);
    EXPECT_EQ(std::string(buffer.data(), 5), "hello");
}

TEST_F(Tunnel, ShowsTheProxyTheUserOfItsUrl) {
    ASSERT_TRUE(open("HTTP/1.0 200 OK\r\n\r\n", "Basic amFuZTpw"));
    EXPECT_NE(asked.find("\r\nproxy-authorization: Basic amFuZTpw\r\n"), asked.npos);
}

TEST_F(Tunnel, SaysWhatTheProxyRefuses) {
    EXPECT_EQ(open("HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n").error().message,
              "the proxy answered 407 to CONNECT, it requires a user and password in its URL; add a server that is reached directly to "
              "NO_PROXY");
    EXPECT_TRUE(open("HTTP/1.1 503 No\r\n\r\n").error().message.starts_with("the proxy answered 503 to CONNECT;"));
    EXPECT_FALSE(open("SSH-2.0-nonsense\r\n\r\n"));
}

/// A proxy on this machine, which takes every connection to `to`, whatever it is asked for.
class LocalProxy {
public:
    LocalProxy(AsioLoop& loop, Endpoint to) : loop_(loop), to_(std::move(to)) {}
    Task<> serve() {
        for (;;) {
            CO_TRY(Accepted accepted, co_await listener_->accept());
            std::array<char, 4096> buffer;
            CO_TRY(const std::size_t count, co_await accepted.stream->read(buffer));
            const std::string head(buffer.data(), count);
            asked.push_back(head.substr(0, head.find("\r\n")));
            CO_TRY(const auto server, co_await connect_socket(loop_, to_));
            CO_TRY_VOID(co_await accepted.stream->write("HTTP/1.1 200 OK\r\n\r\n"));
            CO_TRY_VOID(co_await relay(loop_, *accepted.stream, *server));
        }
    }
    Proxy address() const { return {"http", "127.0.0.1", listener_->port(), ""}; }
    std::vector<std::string> asked;

private:
    AsioLoop& loop_;
    Endpoint to_;
    std::unique_ptr<Listener> listener_ = Listener::tcp(loop_, "127.0.0.1", 0).value();
};

Task<> ask_through_proxy(AsioLoop& loop, LocalProxy& proxy, Scope& scope) {
    scope.spawn(proxy.serve());
    HttpClient client(loop, {.host = "server.example.com", .port = 8080}, nullptr, proxy.address());
    CO_TRY(const HttpResponse response, co_await client.send({.method = "GET", .path = "/a"}));
    EXPECT_EQ(response.body, "GET /a? ");
    CO_TRY_VOID(co_await client.close());
    co_return co_await scope.close();
}

// JOI-14
TEST(ProxiedClient, JOI14_LeavesTheServersNameToTheProxy) {
    AsioLoop loop;
    TestHandler handler(loop);
    HttpServer server(loop, handler, HttpServerOptions{}, Logger(make_null_sink(), ""));
    LocalProxy proxy(loop, {.host = "127.0.0.1", .port = server.listen("127.0.0.1", 0).value()});
    Scope scope(loop);
    const auto done = run_task(loop, with_timeout(ask_through_proxy(loop, proxy, scope), 120s, "scenario"));
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(proxy.asked, std::vector<std::string>{"CONNECT server.example.com:8080 HTTP/1.1"});
    EXPECT_TRUE(run_task(loop, server.close()));
}

TEST(ProxiedClient, NamesTheProxyThatIsNotThere) {
    AsioLoop loop;
    HttpClient client(loop, {.host = "server.example.com", .port = 443}, nullptr, Proxy{"http", "127.0.0.1", 1, ""});
    const auto answer = run_task(loop, client.send({.method = "GET", .path = "/a"}));
    EXPECT_EQ(answer.error().message, "through the proxy http://127.0.0.1:1: connection refused: 127.0.0.1:1");
    HttpClient other(loop, {.host = "server.example.com", .port = 443}, nullptr, Proxy{"socks5", "127.0.0.1", 1, ""});
    EXPECT_EQ(run_task(loop, other.send({.method = "GET", .path = "/a"})).error().message,
              "through the proxy socks5://127.0.0.1:1: the proxy's scheme socks5 is not supported; use http or https");
}

}  // namespace
}  // namespace porthole::net
