#include "cmd/server/candidate.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "client/fake/fake_api.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::cmd {
namespace {

using api::coordination::v1::Lease;

const client::NamespacedName Key{"kube-system", "kube-scheduler"};

/// A component that takes a minute to stop, behind an election.
struct CandidateTest : testing::Test {
    CandidateTest() { candidate.start(); }
    ~CandidateTest() override { EXPECT_TRUE(sim::run(loop, resigning.close())); }

    void resign_in_background() {
        static constexpr auto work = [](CandidateTest& test) -> Task<> {
            test.resigned = co_await test.candidate.resign();
            co_return {};
        };
        resigning.spawn(work(*this));
    }
    /// Another server takes the Lease for an hour, as after a leader that hangs.
    void lose_lease() {
        Lease lease = *api.find<Lease>(Key);
        lease.spec.holder_identity = "another";
        lease.spec.lease_duration_seconds = 3600;
        lease.spec.renew_time = MicroTimestamp(loop.wall_now());
        ASSERT_TRUE(sim::run(loop, client.update(std::move(lease))));
    }
    std::string holder() { return api.find<Lease>(Key)->spec.holder_identity.value_or(""); }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{7};
    int starts = 0, stops_begun = 0, stops_ended = 0;
    Candidate candidate{{loop, client, random, Logger(make_null_sink(), "test")},
                        {.name = "kube-scheduler",
                         .start = [this]() -> Task<> { return count(starts); },
                         .stop = [this]() -> Task<> { return stop_slowly(); }},
                        "this",
                        {}};
    std::optional<Result<void>> resigned;
    Scope resigning{loop};

private:
    static Task<> count(int& number) {
        ++number;
        co_return {};
    }
    Task<> stop_slowly() {
        ++stops_begun;
        CO_TRY_VOID(co_await loop.sleep(1min));
        ++stops_ended;
        co_return {};
    }
};

TEST_F(CandidateTest, StopsItsComponentBeforeItReleasesTheLease) {
    loop.advance(1s);
    EXPECT_TRUE(candidate.leading());
    EXPECT_EQ(starts, 1);
    resign_in_background();
    loop.advance(59s);
    EXPECT_EQ(holder(), "this") << "it may still write";
    EXPECT_FALSE(resigned);
    loop.advance(2s);
    EXPECT_EQ(stops_ended, 1);
    EXPECT_EQ(holder(), "");
    EXPECT_TRUE(resigned && *resigned);
}

TEST_F(CandidateTest, FinishesAStopDuringWhichTheLeaseIsLost) {
    loop.advance(1s);
    resign_in_background();
    loop.advance(1s);
    lose_lease();
    loop.advance(30s);
    EXPECT_FALSE(resigned) << "the component has not stopped";
    loop.advance(30s);
    EXPECT_EQ(stops_begun, 1);
    EXPECT_EQ(stops_ended, 1);
    EXPECT_TRUE(resigned && *resigned);
    EXPECT_EQ(holder(), "another");
}

TEST_F(CandidateTest, FinishesTheStopAfterALostLeaseWhenItResignsMeanwhile) {
    loop.advance(1s);
    lose_lease();
    loop.advance(5s);
    EXPECT_FALSE(candidate.leading());
    EXPECT_EQ(stops_begun, 1);
    resign_in_background();
    loop.advance(30s);
    EXPECT_FALSE(resigned) << "the component has not stopped";
    loop.advance(30s);
    EXPECT_EQ(stops_begun, 1);
    EXPECT_EQ(stops_ended, 1);
    EXPECT_TRUE(resigned.has_value());
    EXPECT_EQ(holder(), "another");
}

TEST_F(CandidateTest, ReleasesALeaseThatWasOnItsWayWhenItResigned) {
    api.set_latency(100ms);  // the Lease is being created
    resign_in_background();
    loop.advance(1s);
    EXPECT_TRUE(resigned && *resigned);
    EXPECT_TRUE(api.find<Lease>(Key).has_value());
    EXPECT_EQ(holder(), "");
    EXPECT_EQ(starts, 0);
}

TEST_F(CandidateTest, ResignsThoughItsAttemptToLeadIsNotAnswered) {
    api.set_latency(1h);
    resign_in_background();
    loop.advance(2s);
    EXPECT_TRUE(resigned.has_value());
    EXPECT_EQ(starts, 0);
}

TEST_F(CandidateTest, ResignsAtOnceBetweenTwoAttemptsToLead) {
    loop.advance(1s);
    lose_lease();
    loop.advance(2min);
    EXPECT_FALSE(candidate.leading());
    resign_in_background();
    loop.advance(1ms);
    EXPECT_TRUE(resigned && *resigned);
}

}  // namespace
}  // namespace porthole::cmd
