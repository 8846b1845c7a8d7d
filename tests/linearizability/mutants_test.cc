// Servers with a defect, to see that the checks of histories find it.
#include <gtest/gtest.h>

#include "linearizability/faulty_transport.h"
#include "linearizability/workload.h"
#include "simulation/sim_cluster.h"

namespace porthole::linearizability {
namespace {

using namespace std::chrono_literals;

std::string violation_with(ServerFault fault, std::uint64_t seed) {
    simulation::SimCluster cluster(seed, 0);
    FaultyTransport faulty(cluster.transport(), fault, cluster.random(), 20);
    client::Client client(faulty);
    Workload workload(cluster.loop(), client, cluster.random(), {.writers = 4, .watchers = 2});
    workload.start();
    cluster.loop().advance(400ms);
    EXPECT_TRUE(sim::run(cluster.loop(), workload.finish()));
    return find_violation(workload.history());
}

struct Mutant {
    const char* name;
    ServerFault fault;
};

class ServerMutants : public testing::TestWithParam<Mutant> {};

TEST_P(ServerMutants, IsCaught) {
    const std::string found = violation_with(GetParam().fault, 7);
    EXPECT_NE(found, "") << GetParam().name << " was not caught";
    std::printf("%s: %s\n", GetParam().name, found.substr(0, found.find('\n')).c_str());
}

INSTANTIATE_TEST_SUITE_P(Faults, ServerMutants,
                         testing::Values(Mutant{"StaleRead", ServerFault::StaleRead}, Mutant{"MissingDelete", ServerFault::MissingDelete},
                                         Mutant{"DoubledEvent", ServerFault::DoubledEvent}, Mutant{"LostUpdate", ServerFault::LostUpdate},
                                         Mutant{"ForgottenDelete", ServerFault::ForgottenDelete},
                                         Mutant{"LostWrite", ServerFault::LostWrite}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ServerWithoutFault, PassesTheSameChecks) { EXPECT_EQ(violation_with(ServerFault::None, 7), ""); }

}  // namespace
}  // namespace porthole::linearizability
