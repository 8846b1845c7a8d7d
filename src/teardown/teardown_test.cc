#include "teardown/teardown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hns/emulator/emulator_fixture.h"

namespace porthole::teardown {
namespace {

using testing::ElementsAre;

class PodNetworkRemoval : public hns::emulator::EmulatorFixture {};

// JOI-19
TEST_F(PodNetworkRemoval, TakesWhatStandsOnTheNetworkAndNothingElse) {
    start();
    const auto network = make_bridge("cbr0");
    const auto pod = make_endpoint(network.id);
    get(client().create(balancer({pod.id}, {"10.96.0.10"})));
    get(client().create(EmulatorFixture::network("other", hns::hcn::NetworkMode::Nat, "172.30.0.0/24", "172.30.0.1")));
    std::vector<std::string> said;
    const auto report = [&](const std::string& text) { said.push_back(text); };
    done(remove_pod_network(emulator(), "cbr0", report));
    EXPECT_THAT(said, ElementsAre("1 load balancers removed", "HNS network cbr0 removed, with 1 endpoints"));
    EXPECT_EQ(get(client().list<hns::hcn::HostComputeNetwork>()).size(), 1u);
    EXPECT_TRUE(get(client().list<hns::hcn::HostComputeLoadBalancer>()).empty());
    done(remove_pod_network(emulator(), "cbr0", report));
}

}  // namespace
}  // namespace porthole::teardown
