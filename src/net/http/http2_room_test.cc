#include <gtest/gtest.h>

#include "base/result.h"
#include "net/http/http2_client.h"
#include "net/http/http_fixture.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::net {
namespace {

constexpr std::size_t Large = 3'000'000;  ///< bytes: the peer's window takes a third

/// Answers /large and /held at once, of which /held takes an hour to end, and everything else after a second, when there is room: /later
/// with as much as /large.
class RoomHandler final : public TestHandler {
public:
    using TestHandler::TestHandler;
    int waited = 0, had_room = 0;

private:
    Task<> answer(HttpRequest request, HttpResponder& responder) override {
        if (request.path == "/large" || request.path == "/held") {
            CO_TRY_VOID(co_await responder.respond(200, {}, {bytes(std::string(Large, 'x'))}));
            co_return co_await loop_.sleep(std::chrono::hours(request.path == "/held" ? 1 : 0));
        }
        CO_TRY_VOID(co_await loop_.sleep(std::chrono::seconds(1)));
        while (!responder.has_room()) {
            ++waited;
            CO_TRY_VOID(co_await responder.room());
        }
        ++had_room;
        co_return co_await responder.respond(200, {}, {bytes(request.path == "/later" ? std::string(Large, 'x') : "small")});
    }
};

Task<std::size_t> size_of(std::shared_ptr<Http2Request> request) {
    for (std::size_t size = 0;;) {
        CO_TRY(const auto piece, co_await request->next());
        if (!piece) co_return size;
        size += piece->size();
    }
}

struct Http2Answers : testing::Test {
    Http2Answers() {
        auto [ours, theirs] = make_memory_stream_pair();
        scope.spawn(serve_test_connection(loop, std::move(theirs), {}, handler, limits));
        client = Http2Client::start(loop, std::move(ours));
    }
    ~Http2Answers() override {
        client->shut_down();
        EXPECT_TRUE(sim::run(loop, scope.close()));
        loop.advance(std::chrono::minutes(1));
    }
    std::shared_ptr<Http2Request> get(std::string path) {
        return client->open({{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", std::move(path)}}, false).value();
    }

    sim::SimLoop loop;
    RoomHandler handler{loop};
    HttpLimits limits{.queued_answers = 1'000'000};
    Scope scope{loop};
    std::shared_ptr<Http2Client> client;
};

/// A client that has asked for something small, and before that is answered for something large, of which it has read nothing.
struct Http2Room : Http2Answers {
    Http2Room() {
        small = get("/small");
        large = get("/large");
        loop.advance(std::chrono::seconds(1));
        EXPECT_EQ(handler.waited, 1);
        EXPECT_EQ(handler.had_room, 0);
    }
    std::shared_ptr<Http2Request> large, small;
};

TEST_F(Http2Room, AHandlerMayWaitUntilThePeerHasReadEarlierAnswers) {
    EXPECT_EQ(sim::run(loop, size_of(large)).value(), Large);
    EXPECT_EQ(sim::run(loop, size_of(small)).value(), 5u);
}

TEST_F(Http2Room, AHandlerNoLongerWaitsWhenThePeerDoesNotWantEarlierAnswers) {
    large.reset();
    loop.run_ready();
    EXPECT_EQ(handler.had_room, 1);
    EXPECT_EQ(sim::run(loop, size_of(small)).value(), 5u);
}

TEST_F(Http2Answers, OfRequestsThatWaitedTogetherAreMadeOnlyWhileThePeerReadsThem) {
    std::vector<std::shared_ptr<Http2Request>> requests;
    for (int i = 0; i < 10; ++i) requests.push_back(get("/later"));
    loop.advance(std::chrono::seconds(1));
    EXPECT_EQ(handler.had_room, 1);
    EXPECT_EQ(handler.waited, 9);
    for (const auto& request : requests) EXPECT_EQ(sim::run(loop, size_of(request)).value(), Large);
}

TEST_F(Http2Answers, ThatHaveBeenMadeAndAreNoLongerWantedLeaveRoomForOthers) {
    const auto small = get("/small");
    auto held = get("/held");
    loop.advance(std::chrono::seconds(1));
    EXPECT_EQ(handler.waited, 1);
    held.reset();
    loop.run_ready();
    EXPECT_EQ(handler.had_room, 1);
    EXPECT_EQ(sim::run(loop, size_of(small)).value(), 5u);
}

}  // namespace
}  // namespace porthole::net
