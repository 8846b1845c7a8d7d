// The prober over real sockets.
#include "kubelet/probes/network_prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "net/socket.h"
#include "runtime/asio_loop.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A server of grpc.health.v1.Health that knows the services "web" (serving), "idle" (not serving), and what `long_name` says.
struct HealthServer {
    AsioLoop loop;
    Logger log{make_null_sink(), "test"};
    const std::string long_name = std::string(200, 's');
    net::GrpcHandler health;
    net::HttpServer server{loop, health, {}, log};
    std::uint16_t port = 0;
    std::unique_ptr<NetworkProber> prober = make_network_prober(loop);

    HealthServer() {
        health.add("/grpc.health.v1.Health/Check", [this](std::string request) -> Task<std::string> {
            const std::string name = request.empty() ? "" : request.substr(request.size() > 128 ? 3 : 2);
            if (name == "idle") co_return std::string("\x08\x02");
            if (name.empty() || name == "web" || name == long_name) co_return std::string("\x08\x01");
            co_return Error(Reason::NotFound, "unknown service " + name);
        });
        port = server.listen("127.0.0.1", 0).value();
    }
    ~HealthServer() { EXPECT_TRUE(run_task(loop, server.close())); }

    ProbeOutcome probe(const std::string& service) { return run_task(loop, prober->grpc("127.0.0.1", port, service, 60s)).value(); }
};

// POD-06
TEST(NetworkProber, POD06_AsksTheHealthServiceOfGrpc) {
    HealthServer server;
    EXPECT_TRUE(server.probe("").success);
    EXPECT_TRUE(server.probe("web").success);
    EXPECT_TRUE(server.probe(server.long_name).success) << "a length of two bytes";
    const ProbeOutcome idle = server.probe("idle");
    EXPECT_FALSE(idle.success);
    EXPECT_EQ(idle.output, "service unhealthy (responded with \"NOT_SERVING\")");
    const ProbeOutcome other = server.probe("other");
    EXPECT_FALSE(other.success);
    EXPECT_THAT(other.output, HasSubstr("error: health rpc probe failed: "));
    EXPECT_THAT(other.output, HasSubstr("unknown service other"));
}

// POD-06
TEST(NetworkProber, POD06_AGrpcProbeOfAClosedPortFails) {
    HealthServer server;
    const auto outcome = run_task(server.loop, server.prober->grpc("127.0.0.1", 9, "", 2s)).value();
    EXPECT_FALSE(outcome.success);
    EXPECT_THAT(outcome.output, HasSubstr("timeout: failed to connect service \"127.0.0.1:9\" within 2s"));
}

/// Sends more than a client should take, and never ends.
struct EndlessServer {
    static constexpr std::uint64_t Most = 128 << 20;
    AsioLoop loop;
    Scope scope{loop};
    std::unique_ptr<net::Listener> listener = net::Listener::tcp(loop, "127.0.0.1", 0).value();
    std::uint64_t sent = 0;

    EndlessServer() { scope.spawn(serve()); }
    ~EndlessServer() { EXPECT_TRUE(run_task(loop, scope.close())); }

    Task<> serve() {
        CO_TRY(net::Accepted accepted, co_await listener->accept());
        const std::string head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n", piece(1 << 20, 'x');
        CO_TRY_VOID(co_await accepted.stream->write(head));
        while (sent < Most && co_await accepted.stream->write(piece)) sent += piece.size();
        co_return co_await loop.sleep(1h);
    }
};

// POD-06
TEST(NetworkProber, POD06_AnAnswerWithoutEndIsReadInPart) {
    EndlessServer server;
    const auto prober = make_network_prober(server.loop);
    HttpTarget target{.host = "127.0.0.1", .port = server.listener->port(), .path = "/"};
    const auto outcome = run_task(server.loop, prober->http(std::move(target), 5s)).value();
    EXPECT_TRUE(outcome.success) << outcome.output;
    EXPECT_LE(outcome.output.size(), 10u << 10);
    EXPECT_LT(server.sent, 64u << 20) << "of what lies in buffers on the way";
}

}  // namespace
}  // namespace porthole::kubelet
