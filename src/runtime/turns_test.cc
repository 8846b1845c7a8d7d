#include "runtime/turns.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "base/result.h"
#include "runtime/sim/sim_loop.h"
#include "runtime/work_clock_fixture.h"

namespace porthole {
namespace {

using namespace std::chrono_literals;

class TurnsTest : public testing::Test {
protected:
    /// Work of `each` for a flow, which is the first letter of the name.
    void begin(const std::string& name, Turns::Stage stage = Turns::Stage::New) {
        start_task(work_on(name, stage), contexts.emplace_back(loop), [](const Result<void>&) {});
    }
    Task<> work_on(std::string name, Turns::Stage stage) {
        Turns::Place place(turns);
        if (!place.begin(static_cast<std::uint64_t>(name[0]), stage)) CO_TRY_VOID(co_await place);
        do_work(name);
        co_return {};
    }
    void begin_long(const std::string& name, int pieces, Turns::Stage stage = Turns::Stage::Begun) {
        start_task(long_work(name, pieces, stage), contexts.emplace_back(loop), [](const Result<void>&) {});
    }
    Task<> long_work(std::string name, int pieces, Turns::Stage stage) {
        LongWork work(turns, static_cast<std::uint64_t>(name[0]));
        for (int piece = 0; piece < pieces; ++piece) {
            if (work.turn_is_over()) CO_TRY_VOID(co_await work.next_turn(stage));
            do_work(name);
        }
        co_return {};
    }
    /// Pieces of work that lead to each other, such as reading a request and serving it.
    void begin_chain(const std::string& name, int pieces, Turns::Stage stage = Turns::Stage::New) {
        start_task(chain(name, pieces, stage), contexts.emplace_back(loop), [](const Result<void>&) {});
    }
    Task<> chain(std::string name, int pieces, Turns::Stage stage) {
        for (int piece = 1; piece <= pieces; ++piece) CO_TRY_VOID(co_await work_on(name + std::to_string(piece), stage));
        co_return {};
    }
    void do_work(const std::string& name) {
        clock.time += each;
        done += name + " ";
        if (after_work) std::exchange(after_work, {})();
    }
    /// Uses up the present turn.
    void fill_turn() {
        begin("x");
        clock.time += 1ms;
        done.clear();
    }
    std::string done_so_far() { return std::exchange(done, ""); }
    /// One look of the loop at its connections.
    std::string next_turn() {
        loop.run_ready();
        return done_so_far();
    }

    sim::SimLoop loop;
    WorkClock clock;
    Duration each = 300us;  ///< so four in a turn
    Turns turns{loop, clock, 1ms};
    std::deque<TaskContext> contexts;
    std::string done;
    Callback after_work;  ///< called once
};

TEST_F(TurnsTest, WorkBeginsAtOnceWhileTheThreadHasTime) {
    for (int i = 0; i < 4; ++i) begin("a");
    EXPECT_EQ(done_so_far(), "a a a a ");
    begin("b");
    EXPECT_EQ(done_so_far(), "");
    EXPECT_EQ(next_turn(), "b ");
}

TEST_F(TurnsTest, FlowsTakeTurnsWhateverTheirNumberOfPlaces) {
    fill_turn();
    for (int i = 0; i < 3; ++i) begin("a");
    begin("b");
    EXPECT_EQ(next_turn(), "a b a a ");
}

TEST_F(TurnsTest, AFlowThatComesIsBeforeThoseThatGoOn) {
    fill_turn();
    for (int i = 0; i < 4; ++i) begin("a");
    after_work = [this] { begin("b"), begin("b"); };
    EXPECT_EQ(next_turn(), "a b a b a a ");
}

TEST_F(TurnsTest, FlowsShareTheThreadByTime) {
    fill_turn();
    each = 10us;
    for (int i = 0; i < 3; ++i) begin("a");
    for (int i = 0; i < 6; ++i) begin("b");
    after_work = [this] { clock.time += 35us; };  // of a
    EXPECT_EQ(next_turn(), "a b b b b b a b a ");
}

TEST_F(TurnsTest, AFlowThatHasLeftIsNotForgottenWhileOthersWait) {
    fill_turn();
    begin("a");
    for (int i = 0; i < 4; ++i) begin("b");
    after_work = [this] {
        clock.time += 2ms;
        loop.post([this] { begin("a"); });
    };
    EXPECT_EQ(next_turn(), "a b b b b a ");
}

TEST_F(TurnsTest, AFlowGoesOnInItsTurnOnce) {
    each = 10us;
    fill_turn();
    begin_chain("a", 3);
    begin_chain("b", 3);
    EXPECT_EQ(next_turn(), "a1 a2 b1 b2 a3 b3 ") << "a request that has been read is served";
}

TEST_F(TurnsTest, AFlowDoesNotGoOnForOthersOrWithSending) {
    each = 10us;
    fill_turn();
    begin_chain("a", 2, Turns::Stage::Sending);
    begin("b");
    begin("b");
    EXPECT_EQ(next_turn(), "a1 b a2 b ");
}

TEST_F(TurnsTest, WhatComesUntilATurnBeginsTakesPartInIt) {
    fill_turn();
    for (int i = 0; i < 5; ++i) begin("a");
    loop.post([this] { begin("b"); });  // as the loop calls what it has found at its connections
    EXPECT_EQ(next_turn(), "a b a a a a ");
}

TEST_F(TurnsTest, AFlowSendsFirstAndEndsWhatItHasBegunBeforeItBeginsMore) {
    fill_turn();
    begin("a1");
    begin("a2", Turns::Stage::Begun);
    begin("a3", Turns::Stage::Begun);
    begin("a4", Turns::Stage::Sending);
    begin("a5", Turns::Stage::Sending);
    EXPECT_EQ(next_turn(), "a4 a5 a3 a2 a1 ") << "of what has begun, the last goes on until its end";
}

TEST_F(TurnsTest, LongWorkGoesOnWhileNobodyWaits) {
    each = 50us;
    begin_long("a", 15);
    EXPECT_EQ(done_so_far().size(), 15 * 2u);
}

TEST_F(TurnsTest, LongWorkLetsOthersHaveTheThreadBetweenItsPieces) {
    begin_long("a", 8);
    EXPECT_EQ(done_so_far(), "a a a a a ") << "its own turn";
    begin("b");
    begin("b");
    EXPECT_EQ(next_turn(), "a b a b a ");
}

TEST_F(TurnsTest, APieceOfLongWorkIsNotInterruptedByOthersThatWait) {
    each = 60us;
    fill_turn();
    begin("b");
    begin_long("a", 4);
    EXPECT_EQ(done_so_far(), "a a ") << "a tenth of a millisecond";
    EXPECT_EQ(next_turn(), "b a a ");
}

TEST_F(TurnsTest, OfAFlowsLongWorksTheLatestEndsFirst) {
    fill_turn();
    for (const char* name : {"a1", "a2", "a3"}) begin_long(name, 3);
    EXPECT_EQ(done_so_far(), "a1 a2 a3 ");
    EXPECT_EQ(next_turn(), "a3 a3 a2 a2 a1 a1 ");
}

TEST_F(TurnsTest, WhatComesAgainAndAgainWaitsInItsOrder) {
    fill_turn();
    for (const char* name : {"a1", "a2", "a3"}) begin_long(name, 3, Turns::Stage::New);
    EXPECT_EQ(done_so_far(), "a1 a2 a3 ");
    EXPECT_EQ(next_turn(), "a1 a2 a3 a1 a2 a3 ");
}

TEST_F(TurnsTest, WorkThatIsCancelledLeavesItsPlace) {
    fill_turn();
    TaskContext context(loop);
    std::optional<Reason> ended;
    start_task(work_on("a", Turns::Stage::Begun), context, [&](const Result<void>& result) { ended = result.error().reason; });
    begin("b");
    context.cancel();
    EXPECT_EQ(next_turn(), "b ");
    EXPECT_EQ(ended, Reason::Cancelled);
}

}  // namespace
}  // namespace porthole
