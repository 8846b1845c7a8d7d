// A short share of ./run test simulated: few nodes, some rounds, and that a seed decides everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "simulation/three_servers/rounds.h"
#include "simulation/three_servers/views.h"

namespace porthole::simulation {
namespace {

/// One in ordinary runs; PORTHOLE_SEED chooses another.
std::uint64_t chosen_seed() {
    const char* text = std::getenv("PORTHOLE_SEED");
    return text ? std::strtoull(text, nullptr, 10) : 1;
}

Rounds::Options small(std::uint64_t seed) { return {.world = {.seed = seed, .nodes = 3}}; }

TEST(ThreeServers, ComeBackToWhatIsWantedAfterEachFault) {
    Rounds rounds(small(chosen_seed()));
    ASSERT_EQ(rounds.start(), "");
    for (int i = 0; i < 3; ++i) ASSERT_EQ(rounds.next(), "") << rounds.last() << ", seed " << chosen_seed();
    EXPECT_GT(rounds.operations(), 50u);
}

/// Blocks of the heap, every other one free, so that what is allocated next has addresses in an order of its own.
std::vector<std::unique_ptr<char[]>> holes_in_the_heap() {
    SeededRandom random(1);
    std::vector<std::unique_ptr<char[]>> blocks;
    for (int i = 0; i < 100'000; ++i) blocks.push_back(std::make_unique<char[]>(16 + 16 * random.below(64)));
    std::ranges::shuffle(blocks, std::minstd_rand());
    blocks.resize(blocks.size() / 2);
    return blocks;
}

TEST(ThreeServers, OneSeedIsOneHistory) {
    struct Told {
        std::uint64_t changes, digest;
        bool operator==(const Told&) const = default;
    } told[2];
    std::vector<std::unique_ptr<char[]>> holes;
    for (Told& one : told) {
        Rounds rounds(Rounds::Options{.world = {.seed = 7, .nodes = 3}, .only = "connections break again and again"});
        ASSERT_EQ(rounds.start(), "");
        ASSERT_EQ(rounds.next(), "") << rounds.last();
        one = {rounds.world().audit().changes(), rounds.world().audit().digest()};
        holes = holes_in_the_heap();
    }
    EXPECT_EQ(told[0], told[1]);
}

/// What no server does, done in etcd behind their backs.
TEST(ThreeServers, ChecksFindWhatIsWrong) {
    Rounds rounds(small(5));
    ASSERT_EQ(rounds.start(), "");
    World& world = rounds.world();
    Apps apps(world);
    const auto pods = world.etcd().revisions("/registry/pods/default/");
    ASSERT_FALSE(pods.empty());
    const std::string pod = pods.begin()->first, lease = "/registry/leases/kube-system/kube-scheduler";
    const auto changed = [&](const std::string& key, const std::string& old, const std::string& fresh) {
        std::string text = world.etcd().value(key);
        const std::size_t at = text.find(old);
        ASSERT_NE(at, std::string::npos) << text;
        world.etcd().put(key, text.replace(at, old.size(), fresh));
    };

    EXPECT_EQ(world.run(find_wrong_leader(world)).value(), "");
    EXPECT_TRUE(world.audit().violations().empty());
    const std::size_t met = world.met();
    world.loop().advance(std::chrono::minutes(2));
    EXPECT_EQ(world.met(), met) << "nothing meets a fault where there is none";
    changed(lease, R"("holderIdentity":"server-)", R"("holderIdentity":"other-)");
    EXPECT_NE(world.run(find_wrong_leader(world)).value(), "");

    ASSERT_EQ(world.audit().violations().size(), 1u);
    EXPECT_THAT(world.audit().violations().back(), testing::HasSubstr("before its time"));
    changed(pod, R"("nodeName":"n)", R"("nodeName":"other-n)");
    ASSERT_EQ(world.audit().violations().size(), 2u);
    EXPECT_THAT(world.audit().violations().back(), testing::HasSubstr("is bound to"));
    EXPECT_NE(world.run(apps.difference()).value(), "");

    EXPECT_EQ(world.run(find_difference_of_views(world)).value(), "");
    world.etcd().hold_watches(true);
    world.etcd().put("/registry/configmaps/default/unseen", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"unseen"}})");
    const auto views = world.run(find_difference_of_views(world));
    EXPECT_TRUE(!views || !views->empty());
}

/// A write that a server has acknowledged, and that is gone.
TEST(ThreeServers, FindALostWriteOfAnEarlierRound) {
    Rounds rounds(small(6));
    ASSERT_EQ(rounds.start(), "");
    ASSERT_EQ(rounds.next(), "") << rounds.last();
    rounds.world().etcd().remove("/registry/configmaps/default/ledger-1");
    EXPECT_THAT(rounds.next(), testing::HasSubstr("ledger-1 was acknowledged and is lost"));
}

TEST(ThreeServers, MeetAtLeastFiftyKindsOfFaults) {
    std::set<std::string> names;
    for (const Fault& fault : all_faults()) EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_GE(names.size(), 50u);
}

}  // namespace
}  // namespace porthole::simulation
