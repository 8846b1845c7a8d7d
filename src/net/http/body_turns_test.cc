#include <gtest/gtest.h>

#include <deque>

#include "base/result.h"
#include "net/fair_stream.h"
#include "net/http/http2_client.h"
#include "net/http/http_fixture.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "runtime/work_clock_fixture.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

constexpr std::uint64_t Address = 1, User = 77;
constexpr std::size_t BodySize = 1'000'000;
constexpr int Others = 20;  ///< requests that wait at any time

/// Finds out the user by the head, as the API server does, and then reads the body.
class AuthenticatingHandler final : public HttpHandler {
public:
    explicit AuthenticatingHandler(bool accepts) : accepts_(accepts) {}
    Task<> handle(HttpRequest request, HttpResponder& responder) override {
        if (accepts_) request.peer.flow->set_user(User, true);
        CO_TRY(const std::string body, co_await responder.read_body());
        read = body.size();
        co_return co_await responder.respond(200, {}, {});
    }
    std::size_t read = 0;

private:
    const bool accepts_;
};

/// A new connection on which a large body comes, while others always have requests that wait, each of which takes the time of a turn.
class BodyTurns : public testing::TestWithParam<bool> {
protected:
    /// How many requests of `flow` are served until the server has read the body. `accepts`: the credentials of the body's request.
    int served_meanwhile(std::uint64_t flow, bool accepts) {
        AuthenticatingHandler handler(accepts);
        auto [ours, theirs] = make_memory_stream_pair(BodySize + 1000);
        const auto shared = std::make_shared<Flow>(Address);
        scope.spawn(serve_test_connection(loop, fair_stream(turns, shared, std::move(theirs)), {.flow = shared}, handler, limits));
        for (int i = 0; i < Others; ++i) scope.spawn(ask(flow, handler));
        std::shared_ptr<Http2Client> client;
        std::shared_ptr<Http2Request> request;
        if (GetParam()) {
            client = Http2Client::start(loop, std::move(ours));
            request = client->open({{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}}, true).value();
            request->queue(bytes(std::string(BodySize, 'x')));
            request->end_sending();
        } else {
            scope.spawn(send(*ours));
        }
        loop.run_ready();
        EXPECT_EQ(handler.read, BodySize);
        if (client) client->shut_down();
        if (ours) ours->close();
        EXPECT_TRUE(sim::run(loop, scope.close()));
        loop.advance(1min);
        return served;
    }

private:
    Task<> ask(std::uint64_t flow, const AuthenticatingHandler& handler) {
        while (handler.read == 0 && served < 1'000'000) {
            Turns::Place place(turns);
            if (!place.begin(flow)) CO_TRY_VOID(co_await place);
            clock.time += 300us;
            ++served;
        }
        co_return {};
    }
    static Task<> send(ByteStream& to) {
        const std::string text =
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(BodySize) + "\r\n\r\n" + std::string(BodySize, 'x');
        co_return co_await to.write(text);
    }

    sim::SimLoop loop;
    WorkClock clock;
    Turns turns{loop, clock, 250us};
    HttpLimits limits;
    Scope scope{loop};
    int served = 0;
};

constexpr int Pieces = BodySize / (16 << 10);

TEST_P(BodyTurns, ALargeBodyDoesNotWaitForTheRequestsOfItsOwnUser) { EXPECT_LT(served_meanwhile(User, true), 4 * Others); }

TEST_P(BodyTurns, ALargeBodyOfAUserWaitsForNobodyAtItsAddress) { EXPECT_LT(served_meanwhile(Address, true), 3 * Pieces); }

TEST_P(BodyTurns, ABodyWithoutCredentialsWaitsLikeAllOthersOfItsAddress) { EXPECT_GE(served_meanwhile(Address, false), Pieces * Others); }

INSTANTIATE_TEST_SUITE_P(Http, BodyTurns, testing::Bool(), [](const auto& http2) { return http2.param ? "2" : "1"; });

}  // namespace
}  // namespace porthole::net
