#include "net/fair_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>

#include "base/result.h"
#include "net/memory_stream.h"
#include "runtime/sim/sim_loop.h"
#include "runtime/work_clock_fixture.h"

namespace porthole::net {
namespace {

using namespace std::chrono_literals;

/// A write of it takes 200 µs.
class CostlyStream final : public ByteStream {
public:
    CostlyStream(WorkClock& clock, std::unique_ptr<ByteStream> lower) : clock_(clock), lower_(std::move(lower)) {}
    Task<std::size_t> read(std::span<char> buffer) override { return lower_->read(buffer); }
    Task<> write(std::string_view bytes) override {
        clock_.time += 200us;
        return lower_->write(bytes);
    }
    Task<> end_writing() override { return lower_->end_writing(); }
    void close() override { lower_->close(); }

private:
    WorkClock& clock_;
    std::unique_ptr<ByteStream> lower_;
};

class FairStreams : public testing::Test {
protected:
    struct Connection {
        std::shared_ptr<Flow> flow;
        std::unique_ptr<ByteStream> stream, peer;
    };
    Connection connect(std::uint64_t flow) {
        auto [ours, theirs] = make_memory_stream_pair(1 << 20);
        auto shared = std::make_shared<Flow>(flow);
        return {shared, fair_stream(turns, shared, std::make_unique<CostlyStream>(clock, std::move(ours))), std::move(theirs)};
    }
    ~FairStreams() override { loop.run_ready(); }

    void start(Task<> task) {
        start_task(std::move(task), contexts.emplace_back(loop), [](const Result<void>&) {});
    }
    /// Reads what the peer sends, and notes the name when it has it.
    Task<> read(Connection& connection, std::string name) {
        std::array<char, 100> buffer;
        CO_TRY(const std::size_t count, co_await connection.stream->read(buffer));
        done += name + std::to_string(count) + " ";
        co_return {};
    }
    Task<> write(Connection& connection, std::size_t size, std::string name) {
        const std::string bytes(size, 'x');
        CO_TRY_VOID(co_await connection.stream->write(bytes));
        done += name + " ";
        co_return {};
    }
    void send(Connection& connection, std::string bytes) {
        start(
            [](ByteStream& peer, std::string sent) -> Task<> { co_return co_await peer.write(sent); }(*connection.peer, std::move(bytes)));
    }
    /// What the loop has done at its next look at the connections.
    std::string next_turn() {
        loop.run_ready();
        return std::exchange(done, "");
    }
    void fill_turn() {
        EXPECT_TRUE(turns.free());
        clock.time += 1ms;
    }

    sim::SimLoop loop;
    WorkClock clock;
    Turns turns{loop, clock, 500us};
    std::deque<TaskContext> contexts;
    std::string done;
};

TEST_F(FairStreams, FlowsAreReadInTurnsWhateverTheirNumberOfConnections) {
    std::deque<Connection> many;
    for (int i = 0; i < 3; ++i) many.push_back(connect(1));
    Connection quiet = connect(2);
    for (Connection& one : many) start(read(one, "many"));
    start(read(quiet, "quiet"));
    for (Connection& one : many) send(one, "abc");
    send(quiet, "a");
    fill_turn();
    EXPECT_EQ(next_turn(), "many3 quiet1 many3 many3 ");
}

TEST_F(FairStreams, AnAnswerIsWrittenInTheTurnOfItsRequest) {
    Connection one = connect(1);
    fill_turn();
    start(write(one, 1000, "answer"));
    EXPECT_EQ(std::exchange(done, ""), "answer ");
}

TEST_F(FairStreams, MuchIsWrittenInPiecesBetweenWhichOthersAreRead) {
    Connection large = connect(1), quiet = connect(2);
    fill_turn();
    start(write(large, 300'000, "large"));
    start(read(quiet, "quiet"));
    send(quiet, "a");
    EXPECT_EQ(next_turn(), "quiet1 large ");
}

TEST_F(FairStreams, SixtyFourKibibytesInRecordsOfTlsAreOnePiece) {
    Connection one = connect(1);
    const MonotonicTime before = clock.time;
    start(write(one, (64 << 10) + 5 * 22, "answer"));
    EXPECT_EQ(std::exchange(done, ""), "answer ");
    EXPECT_EQ(clock.time - before, 200us);
}

TEST_F(FairStreams, ThousandsOfAddressesAreFewFlows) {
    std::set<std::uint64_t> flows;
    for (int i = 0; i < 5000; ++i) flows.insert(flow_of("192.0.2." + std::to_string(i))->user());
    EXPECT_GT(flows.size(), 1u);
    EXPECT_LE(flows.size(), 16u);
    EXPECT_FALSE(flows.contains(0));
}

TEST_F(FairStreams, WhatHasBeenReadIsNotLostWhenTheReaderIsCancelled) {
    Connection one = connect(1);
    send(one, "abc");
    fill_turn();
    start(read(one, "one"));
    contexts.back().cancel();
    EXPECT_EQ(next_turn(), "one3 ");
}

TEST_F(FairStreams, AConnectionCountsForItsUserOnceThatIsKnown) {
    Connection first = connect(1), second = connect(2), quiet = connect(3);
    second.flow->set_user(1, true);
    start(read(first, "first"));
    start(read(second, "second"));
    start(read(quiet, "quiet"));
    for (Connection* one : {&first, &second, &quiet}) send(*one, "a");
    fill_turn();
    EXPECT_EQ(next_turn(), "first1 quiet1 second1 ");
}

TEST_F(FairStreams, ABodyThatIsAwaitedIsReadBeforeNewRequestsOfItsUser) {
    Connection first = connect(1), second = connect(1), large = connect(9);
    large.flow->set_user(1, true);
    const Flow::Body awaited(large.flow);
    start(read(first, "first"));
    start(read(second, "second"));
    start(read(large, "body"));
    for (Connection* one : {&first, &second, &large}) send(*one, "a");
    fill_turn();
    EXPECT_EQ(next_turn(), "body1 first1 second1 ");
}

TEST_F(FairStreams, APieceOfABodyNoLongerWaitsWithItsAddressOnceTheUserIsKnown) {
    Connection first = connect(1), second = connect(1), large = connect(1);
    start(read(first, "first"));
    start(read(second, "second"));
    start(read(large, "body"));
    for (Connection* one : {&first, &second, &large}) send(*one, "a");
    fill_turn();
    std::optional<Flow::Body> awaited;
    loop.post([&] {  // after all have been read
        EXPECT_EQ(done, "");
        large.flow->set_user(7, true);
        awaited.emplace(large.flow);
    });
    EXPECT_EQ(next_turn(), "first1 body1 second1 ");
}

TEST_F(FairStreams, WithoutAcceptedCredentialsABodyComesBeforeNothing) {
    Connection first = connect(1), second = connect(1), large = connect(1);
    large.flow->set_user(1, false);
    const Flow::Body awaited(large.flow);
    start(read(first, "first"));
    start(read(large, "body"));
    start(read(second, "second"));
    for (Connection* one : {&first, &large, &second}) send(*one, "a");
    fill_turn();
    EXPECT_EQ(next_turn(), "first1 body1 second1 ");
}

}  // namespace
}  // namespace porthole::net
