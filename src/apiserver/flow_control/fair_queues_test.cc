#include "apiserver/flow_control/fair_queues.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "apiserver/flow_control/seat_allocation.h"
#include "apiserver/flow_control/shuffle_sharding.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

TEST(ShuffleSharding, DealsDifferentQueuesAndTheSameHandEachTime) {
    std::set<std::set<std::uint32_t>> hands;
    for (std::uint64_t hash = 1; hash < 2000; ++hash) {
        std::array<std::uint32_t, 6> hand, again;
        deal(hash * 0x9e3779b97f4a7c15u, 64, hand);
        deal(hash * 0x9e3779b97f4a7c15u, 64, again);
        EXPECT_EQ(hand, again);
        const std::set<std::uint32_t> cards(hand.begin(), hand.end());
        ASSERT_EQ(cards.size(), hand.size());
        ASSERT_LT(*cards.rbegin(), 64u);
        hands.insert(cards);
    }
    EXPECT_GT(hands.size(), 1990u);
    EXPECT_EQ(required_entropy_bits(64, 6), 36);
    EXPECT_EQ(required_entropy_bits(128, 9), 63);
}

TEST(ShuffleSharding, DealsEveryCardEquallyOften) {
    std::array<int, 4> dealt{};
    for (std::uint64_t hash = 0; hash < 12; ++hash) {
        std::array<std::uint32_t, 2> hand;
        deal(hash, 4, hand);
        for (const std::uint32_t card : hand) ++dealt[card];
    }
    EXPECT_EQ(dealt, (std::array<int, 4>{6, 6, 6, 6}));
}

/// One level, whose requests end when the test says so.
class FairQueuesTest : public testing::Test {
protected:
    struct Request : FairQueues::Entry {
        char flow_name = ' ';
    };
    void SetUp() override {
        queues.configure({.queues = 64, .hand_size = 1, .queue_length = 50});
        queues.set_limit(1);
    }
    /// Every flow has a queue of its own: the hash of a hand of one card is the card.
    Request& request(char flow, std::uint32_t seats = 1) {
        Request& made = requests.emplace_back();
        made.flow = static_cast<std::uint64_t>(flow - 'A');
        made.flow_name = flow;
        made.work.seats = seats;
        return made;
    }
    Request& wait(char flow, std::uint32_t seats = 1) {
        Request& made = request(flow, seats);
        EXPECT_TRUE(queues.enqueue(made, now));
        return made;
    }
    Request* start() { return static_cast<Request*>(queues.start_next(now)); }
    /// Serves one request after the other, each for as long as its flow takes; yields the flows in order.
    std::string serve(int count, Duration each) {
        std::string order;
        while (count-- > 0) {
            Request* const next = start();
            if (!next) return order;
            order += next->flow_name;
            now += each;
            queues.finish(*next, now);
        }
        return order;
    }

    FairQueues queues;
    std::deque<Request> requests;
    MonotonicTime now{1h};
};

TEST_F(FairQueuesTest, AFlowThatFloodsWaitsForItselfOnly) {
    for (int i = 0; i < 20; ++i) wait('A');
    EXPECT_EQ(serve(3, 100ms), "AAA");
    wait('B');
    const std::string order = serve(3, 100ms);
    EXPECT_LT(order.find('B'), 2u) << order;
}

TEST_F(FairQueuesTest, AListInPiecesCountsForTheSeatsThatItHad) {
    queues.set_limit(5);
    for (int i = 0; i < 2; ++i) {
        Request& list = request('A', 4);
        list.work.in_pieces = true;
        EXPECT_TRUE(queues.enqueue(list, now));
    }
    Request* const list = start();
    for (int i = 0; i < 8; ++i) wait('B');
    now += 5ms;
    queues.go_on_in_pieces(*list, now);
    EXPECT_EQ(queues.seats_in_use(), 1u);
    EXPECT_EQ(queues.next(), &requests[2]) << "the second list does not begin before the first is made";
    now += 20ms;
    queues.finish(*list, now);
    EXPECT_EQ(queues.seats_in_use(), 0u);
    EXPECT_EQ(serve(6, 10ms), "BBBBBA") << "4 x 5 ms and 20 ms";
}

TEST_F(FairQueuesTest, FlowsShareByTimeAndNotByNumber) {
    for (int i = 0; i < 40; ++i) {
        wait('A');
        wait('B');
    }
    std::map<char, Duration> served;
    std::string order;
    for (int i = 0; i < 44; ++i) {
        Request* const next = start();
        order += next->flow_name;
        const Duration taken = next->flow_name == 'A' ? 100ms : 10ms;
        now += taken;
        served[next->flow_name] += taken;
        queues.finish(*next, now);
    }
    EXPECT_TRUE(order.starts_with("BABBBBBBBBBA")) << order;
    EXPECT_NEAR(static_cast<double>(served['A'].count()) / static_cast<double>(served['B'].count()), 1.0, 0.3);
}

TEST_F(FairQueuesTest, AFlowThatWasAwayHasNoClaimToThePast) {
    for (int i = 0; i < 40; ++i) wait('A');
    serve(20, 100ms);
    for (int i = 0; i < 10; ++i) wait('B');
    const std::string order = serve(8, 100ms);
    EXPECT_NEAR(static_cast<double>(std::ranges::count(order, 'B')), 4, 1.1) << order;
}

TEST_F(FairQueuesTest, AFloodDoesNotReachTheQueuesOfAnotherHand) {
    FairQueues sharded;
    sharded.configure({.queues = 64, .hand_size = 6, .queue_length = 5});
    sharded.set_limit(1);
    int taken = 0;
    for (int i = 0; i < 100; ++i) {
        Request& flood = request('A');
        flood.flow = 0x123456789abcdefu;
        if (sharded.enqueue(flood, now)) ++taken;
    }
    EXPECT_EQ(taken, 6 * 5) << "its hand is full";
    int others = 0;
    for (std::uint64_t flow = 1; flow <= 100; ++flow) {
        Request& one = request('B');
        one.flow = flow * 0x9e3779b97f4a7c15u;
        if (sharded.enqueue(one, now)) ++others;
    }
    EXPECT_EQ(others, 100);
}

TEST_F(FairQueuesTest, AWideRequestIsNotPassedByNarrowOnes) {
    queues.set_limit(4);
    for (int i = 0; i < 4; ++i) wait('A');
    for (int i = 0; i < 4; ++i) ASSERT_NE(start(), nullptr);
    wait('B', 3);
    now += 1ms;
    for (int i = 0; i < 4; ++i) wait('A');
    queues.finish(requests[0], now);
    EXPECT_EQ(start(), nullptr) << "one seat is free, three are wanted";
    queues.finish(requests[1], now);
    queues.finish(requests[2], now);
    Request* const wide = start();
    ASSERT_NE(wide, nullptr);
    EXPECT_EQ(wide->flow_name, 'B');
    EXPECT_EQ(queues.seats_in_use(), 4u);
}

TEST_F(FairQueuesTest, ARequestWiderThanTheLevelIsServedAlone) {
    queues.set_limit(2);
    wait('A', 5);
    wait('B');
    Request* const first = start();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->flow_name, 'B') << "it ends sooner";
    EXPECT_EQ(start(), nullptr);
    queues.finish(*first, now);
    ASSERT_NE(start(), nullptr);
    EXPECT_EQ(queues.seats_in_use(), 5u);
}

TEST_F(FairQueuesTest, WhoLeavesGivesTheTurnToTheNext) {
    Request& gone = wait('A');
    wait('A').flow_name = 'a';
    queues.remove(gone, now);
    EXPECT_EQ(queues.waiting(), 1u);
    EXPECT_EQ(serve(2, 1ms), "a");
    EXPECT_TRUE(queues.idle());
    EXPECT_EQ(queues.seats_waiting(), 0u);
}

TEST_F(FairQueuesTest, QueuesThatAreTooManyGoWhenTheyAreEmpty) {
    wait('A');
    wait('Z');
    queues.configure({.queues = 2, .hand_size = 1, .queue_length = 50});
    EXPECT_EQ(queues.queues().size(), 26u);
    const std::string order = serve(2, 1ms);
    EXPECT_EQ(std::set<char>(order.begin(), order.end()), (std::set<char>{'A', 'Z'}));
    EXPECT_EQ(queues.queues().size(), 2u);
}

TEST_F(FairQueuesTest, WithoutQueuesOnlyTheLimitCounts) {
    FairQueues bare;
    bare.set_limit(3);
    EXPECT_TRUE(bare.start_unqueued(request('A', 2), now));
    EXPECT_FALSE(bare.start_unqueued(request('A', 2), now));
    EXPECT_TRUE(bare.start_unqueued(request('A', 1), now));
    bare.finish(requests[0], now);
    EXPECT_EQ(bare.seats_in_use(), 1u);
}

// --- Seats of levels ---

TEST(SeatLimits, FollowFromSharesAndPercentages) {
    const SeatLimits limits = seat_limits(600, 30, 245, 33, -1);
    EXPECT_EQ(limits.nominal, 74u) << "rounded up";
    EXPECT_EQ(limits.lower, 50u);
    EXPECT_EQ(limits.upper, 674u);
    EXPECT_EQ(seat_limits(600, 20, 245, 50, 100).upper, 98u);
    EXPECT_EQ(seat_limits(600, 0, 0, 0, -1).nominal, 0u);
}

TEST(DivideSeats, KeepsToBoundsAndSharesTheRestByTarget) {
    const SeatClaim claims[] = {
        {.target = 10, .lower = 10, .upper = 100}, {.target = 30, .lower = 0, .upper = 100}, {.target = 5, .lower = 5, .upper = 8}};
    const std::vector<double> given = divide_seats(88, claims);
    EXPECT_NEAR(given[0], 20, 0.01);
    EXPECT_NEAR(given[1], 60, 0.01);
    EXPECT_NEAR(given[2], 8, 0.01) << "grows with the others up to its bound";
    EXPECT_NEAR(std::reduce(given.begin(), given.end()), 88, 0.01);
    EXPECT_EQ(divide_seats(1, claims)[0], 10) << "less than the lower bounds cannot be given";
}

TEST(SeatDemandTest, RisesAtOnceAndFallsSlowly) {
    SeatDemand demand;
    MonotonicTime now{1h};
    demand.set(1, now);
    demand.set(41, now + 2s);
    demand.set(1, now + 4s);
    demand.end_period(now + 10s);
    EXPECT_EQ(demand.highest(), 41u);
    const double first = demand.smoothed();
    EXPECT_GT(first, 9) << "the average";
    EXPECT_LT(first, 41);
    demand.end_period(now + 20s);
    EXPECT_EQ(demand.highest(), 1u);
    EXPECT_GT(demand.smoothed(), 0.9 * first);
    EXPECT_LT(demand.smoothed(), first);
}

}  // namespace
}  // namespace porthole::apiserver
