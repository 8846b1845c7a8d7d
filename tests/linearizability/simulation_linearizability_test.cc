// Concurrent clients of a simulated server that loses its power again and again.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "linearizability/workload.h"
#include "simulation/sim_cluster.h"

namespace porthole::linearizability {
namespace {

using namespace std::chrono_literals;

/// Another one in every run; PORTHOLE_SEED chooses.
std::uint64_t chosen_seed() {
    const char* text = std::getenv("PORTHOLE_SEED");
    if (text) return std::strtoull(text, nullptr, 10);
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'000;
}

TEST(SimulatedHistories, AreLinearizable) {
    const std::uint64_t seed = chosen_seed();
    SCOPED_TRACE("PORTHOLE_SEED=" + std::to_string(seed));
    simulation::SimCluster cluster(seed, 0);
    Workload workload(cluster.loop(), cluster.client(), cluster.random(), {.writers = 5, .watchers = 3});
    workload.start();
    for (int crash = 0; crash < 6; ++crash) {
        cluster.loop().advance(std::chrono::milliseconds(50 + cluster.random().below(400)));
        workload.server_dies();
        cluster.crash_server();
        workload.server_is_back();
    }
    cluster.loop().advance(300ms);
    ASSERT_TRUE(sim::run(cluster.loop(), workload.finish()));
    EXPECT_EQ(find_violation(workload.history()), "");
    EXPECT_GT(workload.done(), 500u);
    std::size_t events = 0;
    for (const Watch& watch : workload.history().watches) events += watch.events.size();
    EXPECT_GT(events, 200u);
}

}  // namespace
}  // namespace porthole::linearizability
