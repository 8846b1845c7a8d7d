// A short share of ./run test simulated: few nodes, some rounds, and that a seed decides everything.
#include <gtest/gtest.h>

#include <cstdlib>

#include "simulation/three_servers/rounds.h"

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

TEST(ThreeServers, OneSeedIsOneHistory) {
    struct Told {
        std::uint64_t changes, digest;
        bool operator==(const Told&) const = default;
    } told[2];
    for (Told& one : told) {
        Rounds rounds(small(7));
        ASSERT_EQ(rounds.start(), "");
        ASSERT_EQ(rounds.next(), "") << rounds.last();
        one = {rounds.world().audit().changes(), rounds.world().audit().digest()};
    }
    EXPECT_EQ(told[0], told[1]);
}

TEST(ThreeServers, MeetAtLeastFiftyKindsOfFaults) {
    std::set<std::string> names;
    for (const Fault& fault : all_faults()) EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_GE(names.size(), 50u);
}

}  // namespace
}  // namespace porthole::simulation
