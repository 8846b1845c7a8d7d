#include "apiserver/flow_control/arrivals.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "net/flow.h"
#include "runtime/sim/sim_loop.h"
#include "runtime/work_clock_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

class ArrivalsTest : public testing::Test {
protected:
    void TearDown() override {
        loop.run_ready();
        arrivals.reset();
        turns.reset();
        loop.run_ready();
    }
    /// A request with this token, which means the user of the same name, or is refused if it begins with "invented".
    void arrive(const std::string& token) {
        net::HttpRequest request;
        if (!token.empty()) request.headers.add("authorization", "Bearer " + token);
        start_task(handle(std::move(request), token), contexts.emplace_back(loop), [](const Result<void>&) {});
    }
    Task<> handle(net::HttpRequest request, std::string token) {
        Arrivals::Arrival arrival(*arrivals, request);
        if (!arrival.begin()) CO_TRY_VOID(co_await arrival.turn());
        work.time += each;
        if (!token.starts_with("invented")) arrival.authenticated(request, token.substr(0, token.find('-')));
        handled += token + " ";
        co_return {};
    }
    void arrive(int count, const std::string& token) {
        for (int i = 0; i < count; ++i) arrive(token);
    }
    std::string handled_so_far() { return std::exchange(handled, ""); }

    sim::SimLoop loop;
    WorkClock work;
    Duration each = 300us;  ///< so four requests in a turn
    std::unique_ptr<Turns> turns = std::make_unique<Turns>(loop, work, 1ms);
    std::unique_ptr<Arrivals> arrivals = std::make_unique<Arrivals>(*turns);
    std::deque<TaskContext> contexts;
    std::string handled;
};

TEST_F(ArrivalsTest, AreHandledAtOnceWhileTheThreadHasTime) {
    each = 10us;
    arrive(20, "ann");
    arrive("bob");
    EXPECT_EQ(handled_so_far().size(), 21 * 4u);
}

TEST_F(ArrivalsTest, OfABusyThreadAreHandledInTurnsOfTheirUsers) {
    arrive("ann");
    arrive("bob");
    loop.run_ready();
    handled_so_far();
    arrive(9, "ann");
    EXPECT_EQ(handled_so_far(), "ann ann ann ann ");
    arrive(2, "bob");
    EXPECT_EQ(handled_so_far(), "") << "the turn is over";
    loop.run_ready();
    EXPECT_EQ(handled_so_far(), "ann bob ann bob ann ann ann ");
}

TEST_F(ArrivalsTest, TokensOfOneUserShareItsTurns) {
    arrive("ann-1");
    arrive("ann-2");
    arrive("bob");
    loop.run_ready();
    handled_so_far();
    arrive(4, "ann-1");
    arrive(2, "ann-1");
    arrive(2, "ann-2");
    arrive("bob");
    handled_so_far();
    loop.run_ready();
    EXPECT_EQ(handled_so_far(), "ann-1 bob ann-1 ann-2 ann-2 ");
}

TEST_F(ArrivalsTest, InventedCredentialsShareTheTurnsOfOneUser) {
    arrive("bob");
    for (int i = 0; i < 8; ++i) arrive("invented" + std::to_string(i));
    arrive("bob");
    arrive("");
    loop.run_ready();
    handled_so_far();
    for (int i = 0; i < 8; ++i) arrive("invented" + std::to_string(i));
    arrive("bob");
    EXPECT_EQ(handled_so_far(), "invented0 invented1 invented2 invented3 ");
    loop.run_ready();
    EXPECT_EQ(handled_so_far(), "bob invented4 invented5 invented6 invented7 ");
}

TEST_F(ArrivalsTest, OneThatIsCancelledLeavesItsPlace) {
    arrive(4, "ann");
    handled_so_far();
    TaskContext context(loop);
    std::optional<Reason> ended;
    net::HttpRequest request;
    start_task(handle(std::move(request), "gone"), context, [&](const Result<void>& result) { ended = result.error().reason; });
    arrive("ann");
    context.cancel();
    loop.run_ready();
    EXPECT_EQ(ended, Reason::Cancelled);
    EXPECT_EQ(handled_so_far(), "ann ");
}

TEST_F(ArrivalsTest, OnlyTheBodyOfARequestWithCredentialsHasBegun) {
    for (const bool has_credentials : {true, false}) {
        net::HttpRequest request;
        if (has_credentials) request.headers.add("authorization", "Bearer ann");
        request.peer.flow = std::make_shared<net::Flow>(1);
        Arrivals::Arrival arrival(*arrivals, request);
        EXPECT_TRUE(arrival.begin());
        arrival.authenticated(request, has_credentials ? "ann" : "system:anonymous");
        const net::Flow::Body awaited(request.peer.flow);
        EXPECT_NE(request.peer.flow->user(), 1u);
        EXPECT_EQ(request.peer.flow->stage(), has_credentials ? Turns::Stage::Begun : Turns::Stage::New);
    }
}

TEST_F(ArrivalsTest, GoneBeforeThePostedTurnIsHarmless) {
    arrive("ann");
    arrivals.reset();
    loop.run_ready();
}

}  // namespace
}  // namespace porthole::apiserver
