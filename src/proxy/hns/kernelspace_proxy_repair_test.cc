#include <gmock/gmock.h>

#include "proxy/hns/kernelspace_proxy_fixture.h"

namespace porthole::proxy::hns {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// SVC-26
TEST(KernelspaceProxy, SVC26_AdoptsItsOwnAfterARestartAndRemovesWhatIsStale) {
    World world;
    world.make_network();
    world.api.put(service("web"));
    world.api.put(slice({"10.244.4.9"}, "web"));
    world.api.put(service("old", "10.96.0.30"));
    world.api.put(slice({"10.244.4.10"}, "old"));
    world.start();
    ASSERT_EQ(world.rules().size(), 2u);
    world.stop();
    world.api.erase<core::Service>({"default", "old"});
    world.counted.writes = 0;
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9"));
    EXPECT_EQ(world.endpoints().size(), 1u);
    EXPECT_EQ(world.counted.writes, 2) << "only the stale ones: traffic of the other goes on";
}

TEST(KernelspaceProxy, LeavesWhatOthersHaveMade) {
    World world;
    const std::string network = world.make_network();
    hcn::HostComputeLoadBalancer foreign;
    foreign.host_compute_endpoints = {world.make_pod("10.244.3.8")};
    foreign.frontend_vips = {"10.96.0.99"};
    foreign.port_mappings = {{.protocol = 6, .internal_port = 80, .external_port = 80}};
    ASSERT_TRUE(sim::run(world.loop, world.hns.create(foreign)));
    hcn::HostComputeEndpoint remote;
    remote.host_compute_network = network;
    remote.flags = porthole::hns::EndpointFlags::RemoteEndpoint;
    remote.ip_configurations = {{.ip_address = "10.244.9.9"}};
    ASSERT_TRUE(sim::run(world.loop, world.hns.create(remote)));
    world.start();
    world.loop.advance(30s);
    EXPECT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.endpoints().size(), 2u);
    ASSERT_TRUE(sim::run(world.loop, world.proxy->clean_up()));
    EXPECT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.endpoints().size(), 2u);
}

TEST(KernelspaceProxy, SaysWhoHoldsAPortAndTakesItOnceItIsFree) {
    World world;
    world.make_network();
    hcn::HostComputeLoadBalancer foreign;
    foreign.host_compute_endpoints = {world.make_pod("10.244.3.8")};
    foreign.frontend_vips = {"10.96.0.20"};
    foreign.port_mappings = {{.protocol = 6, .internal_port = 80, .external_port = 80}};
    const auto held = sim::run(world.loop, world.hns.create(foreign));
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.api.put(service("other", "10.96.0.21"));
    world.api.put(slice({"10.244.4.9"}, "other"));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->80 10.244.3.8", "10.96.0.21:80->8080 10.244.4.9")) << "the other service works";
    EXPECT_THAT(world.event_reasons(), ElementsAre("PortTaken"));
    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeLoadBalancer>(held->id)));
    world.loop.advance(10s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9", "10.96.0.21:80->8080 10.244.4.9"));
}

// HNS-14: lost, changed and foreign within ten seconds
TEST(KernelspaceProxy, RepairsWithinTenSeconds) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    const std::vector<std::string> wanted{"10.96.0.20:80->8080 10.244.3.7 10.244.4.9"};
    ASSERT_EQ(world.rules(), wanted);

    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeLoadBalancer>(world.balancers()[0].id)));
    world.loop.advance(10s);
    EXPECT_EQ(world.rules(), wanted) << "a load balancer was deleted";

    for (const auto& endpoint : world.endpoints()) {
        if (porthole::hns::is_remote(endpoint)) ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeEndpoint>(endpoint.id)));
    }
    world.loop.advance(10s);
    EXPECT_EQ(world.rules(), wanted) << "a remote endpoint was deleted";

    hcn::HostComputeLoadBalancer changed = world.balancers()[0];
    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeLoadBalancer>(changed.id)));
    changed.port_mappings[0].internal_port = 9999;
    ASSERT_TRUE(sim::run(world.loop, world.hns.create(changed)));
    world.loop.advance(10s);
    EXPECT_EQ(world.rules(), wanted) << "a load balancer was changed";
    EXPECT_EQ(world.proxy->counts().repaired, 3u);
}

TEST(KernelspaceProxy, SVC26_StartsOverWhenTheNetworkIsAnother) {
    World world;
    const std::string id = world.make_network();
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    ASSERT_EQ(world.rules().size(), 1u);
    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeNetwork>(id)));
    world.loop.advance(20s);
    world.make_network();
    world.loop.advance(2s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9"));
    EXPECT_EQ(world.endpoints().size(), 1u);
}

TEST(KernelspaceProxy, OutlivesARestartOfTheService) {
    World world;
    world.make_network();
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    world.control(R"({"service":"stop"})");
    world.api.put(slice({"10.244.4.10"}));
    world.loop.advance(30s);
    EXPECT_FALSE(world.ended);
    EXPECT_FALSE(world.proxy->in_step());
    world.control(R"({"service":"start"})");
    world.loop.advance(10s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.10"));
    EXPECT_TRUE(world.proxy->in_step());
    EXPECT_EQ(world.endpoints().size(), 1u);
}

TEST(KernelspaceProxy, GetsThereWhateverCallFails) {
    for (const char* call : {"HcnCreateLoadBalancer", "HcnDeleteLoadBalancer", "HcnCreateEndpoint", "HcnDeleteEndpoint",
                             "HcnEnumerateEndpoints", "HcnEnumerateLoadBalancers", "HcnQueryNetworkProperties", "HcnModifyLoadBalancer"}) {
        for (const char* code : {"0x8000ffff", "0x800706ba", "0x803b0007"}) {
            SCOPED_TRACE(std::string(call) + " " + code);
            World world("2025");
            world.make_network();
            world.api.put(service());
            world.api.put(slice({"10.244.4.9"}));
            world.start();
            world.control(R"({"fail":[{"call":")" + std::string(call) + R"(","hresult":")" + code + R"(","times":3}]})");
            world.api.put(slice({"10.244.4.10", "10.244.4.11"}));
            world.api.put(service("other", "10.96.0.21"));
            world.loop.advance(1s);
            world.api.put(slice({"10.244.4.12"}, "other"));
            world.loop.advance(45s);
            EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.10 10.244.4.11", "10.96.0.21:80->8080 10.244.4.12"));
            EXPECT_EQ(world.endpoints().size(), 3u);
        }
    }
}

/// Objects of the host that refer to nothing, or are half of something.
std::vector<std::string> half_made(World& world) {
    std::set<std::string> present;
    for (const auto& endpoint : world.endpoints()) present.insert(porthole::hns::canonical_guid(endpoint.id));
    std::vector<std::string> found;
    for (const auto& balancer : world.balancers()) {
        if (balancer.host_compute_endpoints.empty() || balancer.port_mappings.empty()) found.push_back(balancer.id);
        for (const auto& id : balancer.host_compute_endpoints) {
            if (!present.contains(porthole::hns::canonical_guid(id))) found.push_back(balancer.id + " -> " + id);
        }
    }
    return found;
}

// The issue's "HNS errors at every call": of everything that a change of services needs, each call in turn.
TEST(KernelspaceProxy, GetsThereWhicheverSingleCallFails) {
    using When = emulator::FailingHns::When;
    for (const char* release : {"2022", "2025"}) {  // without and with changes of load balancers in place
        for (const When when : {When::Before, When::After}) {
            for (const auto code : {porthole::hns::Hresult::Unexpected, porthole::hns::Hresult::RpcServerUnavailable}) {
                bool reached = true;
                for (int passing = 0; reached; ++passing) {
                    SCOPED_TRACE(std::string(release) + (when == When::Before ? " before" : " after") + " call " +
                                 std::to_string(passing + 1) + " " + porthole::hns::hresult_name(code));
                    World world(release);
                    world.make_network();
                    world.make_pod("10.244.3.7");
                    world.api.put(service());
                    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
                    world.api.put(service("gone", "10.96.0.30"));
                    world.api.put(slice({"10.244.4.20"}, "gone"));
                    world.start();
                    world.failing.fail_after(passing, when, code);
                    world.api.put(slice({"10.244.3.7", "10.244.4.10"}));
                    world.api.put(service("other", "10.96.0.21"));
                    world.api.put(slice({"10.244.4.11"}, "other"));
                    world.api.erase<core::Service>({"default", "gone"});
                    world.loop.advance(100ms);
                    reached = world.failing.failed();
                    EXPECT_THAT(half_made(world), IsEmpty());
                    world.loop.advance(20s);
                    world.failing.stop_failing();
                    EXPECT_THAT(world.rules(),
                                ElementsAre("10.96.0.20:80->8080 10.244.3.7 10.244.4.10", "10.96.0.21:80->8080 10.244.4.11"));
                    EXPECT_EQ(world.endpoints().size(), 3u) << "the pod's and two of other nodes";
                    EXPECT_FALSE(world.ended);
                    ASSERT_LT(passing, 60);
                }
            }
        }
    }
}

// The issue's bench in small: churn leaves nothing stale.
TEST(KernelspaceProxy, SettlesAfterChurn) {
    World world("2025");
    world.make_network();
    world.start();
    SeededRandom random(5);
    std::map<std::string, std::vector<std::string>> wanted;
    for (int step = 0; step < 400; ++step) {
        const auto number = std::to_string(random.below(20));
        std::vector<std::string> addresses;
        for (std::uint64_t i = 0; i < random.below(6); ++i) addresses.push_back("10.244.4." + std::to_string(1 + random.below(40)));
        world.api.put(service("s" + number, "10.96.1." + number));
        world.api.put(slice(addresses, "s" + number));
        wanted[number] = addresses;
        if (random.below(4) == 0) world.loop.advance(50ms);
    }
    world.loop.advance(30s);
    std::set<std::string> used;
    std::size_t rules = 0;
    for (const auto& [number, addresses] : wanted) {
        used.insert(addresses.begin(), addresses.end());
        rules += !addresses.empty();
    }
    EXPECT_EQ(world.rules().size(), rules);
    EXPECT_EQ(world.endpoints().size(), used.size());
}

}  // namespace
}  // namespace porthole::proxy::hns
