#include "client/leader_election.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::client {
namespace {

using api::coordination::v1::Lease;

const NamespacedName Key{"kube-system", "kube-controller-manager"};

struct Candidate {
    Candidate(EventLoop& loop, Client& client, Random& random, const std::string& name)
        : loop(loop), elector(loop, client, random, Logger(make_null_sink(), "test"), Key, name), scope(loop) {
        scope.spawn(elector.run([this] { return lead(); }));
    }
    Task<> lead() { return this->loop.sleep(term); }
    void kill() { EXPECT_TRUE(sim::run(static_cast<sim::SimLoop&>(loop), scope.close())); }

    EventLoop& loop;
    Duration term = 1000h;
    LeaderElector elector;
    Scope scope;
};

struct LeaderElectionTest : testing::Test {
    sim::SimLoop loop;
    FakeApi api{loop};
    Client client{api};
    SeededRandom random{7};
};

TEST_F(LeaderElectionTest, OneLeadsAndTheOtherFollowsWhenItDies) {
    Candidate a(loop, client, random, "a");
    loop.advance(1s);
    Candidate b(loop, client, random, "b");
    loop.advance(1h);
    EXPECT_TRUE(a.elector.leading());
    EXPECT_FALSE(b.elector.leading());
    EXPECT_EQ(api.find<Lease>(Key)->spec.holder_identity, "a");
    a.kill();
    loop.advance(10s);
    EXPECT_FALSE(b.elector.leading());
    loop.advance(15s);
    EXPECT_TRUE(b.elector.leading());
    EXPECT_EQ(api.find<Lease>(Key)->spec.lease_transitions, 1);
    b.kill();
}

TEST_F(LeaderElectionTest, ALeaderThatEndsMakesRoomAtOnce) {
    Candidate a(loop, client, random, "a");
    a.term = 1min;
    loop.advance(1s);
    Candidate b(loop, client, random, "b");
    loop.advance(1min + 6s);
    EXPECT_FALSE(a.elector.leading());
    EXPECT_TRUE(b.elector.leading());
    a.kill();
    b.kill();
}

TEST_F(LeaderElectionTest, ARunThatMustBeAloneIsRefusedWithTheNameOfTheOneAtWork) {
    Candidate a(loop, client, random, "a");
    loop.advance(3s);
    LeaderElector other(loop, client, random, Logger(make_null_sink(), "test"), Key, "b");
    int led = 0;
    const auto lead = [&] { return ++led, loop.sleep(1s); };
    const auto refused = sim::run(loop, other.run_alone(lead));
    EXPECT_EQ(refused.error().reason, Reason::AlreadyExists);
    EXPECT_EQ(refused.error().message, "a");
    EXPECT_EQ(led, 0);
    a.kill();
    EXPECT_TRUE(sim::run(loop, other.run_alone(lead))) << "the lease of one that has died is waited for";
    EXPECT_EQ(led, 1);
    EXPECT_EQ(api.find<Lease>(Key)->spec.holder_identity, "") << "the next need not wait";
}

TEST_F(LeaderElectionTest, ALeaderThatCannotRenewStopsBeforeAnotherBegins) {
    Candidate a(loop, client, random, "a");
    loop.advance(1s);
    api.set_fault([](const ApiRequest&) { return Error(Reason::Unavailable, "connection refused"); });
    loop.advance(5s);
    EXPECT_TRUE(a.elector.leading());
    loop.advance(9s);
    EXPECT_FALSE(a.elector.leading());
    a.kill();
}

}  // namespace
}  // namespace porthole::client
