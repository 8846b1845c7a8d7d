#include <gmock/gmock.h>

#include "proxy/hns/kernelspace_proxy_fixture.h"

namespace porthole::proxy::hns {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// SVC-02, SVC-01, SVC-24
TEST(KernelspaceProxy, SVC02_ProgramsServicesIntoHns) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    core::Service web = service();
    web.spec.type = "NodePort";
    web.spec.ports[0].node_port = 30080;
    world.api.put(web);
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("*:30080->8080 10.244.3.7 10.244.4.9", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    int remote = 0;
    for (const auto& endpoint : world.endpoints()) {
        if (!porthole::hns::is_remote(endpoint)) continue;
        ++remote;
        EXPECT_EQ(endpoint.mac_address, "02-11-0A-F4-04-09");
    }
    EXPECT_EQ(remote, 1) << "one for both load balancers";
    EXPECT_TRUE(world.proxy->in_step());
}

// SVC-07
TEST(KernelspaceProxy, SVC07_WaitsForTheNetwork) {
    World world;
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    world.loop.advance(60s);
    EXPECT_FALSE(world.ended);
    EXPECT_THAT(world.rules(), IsEmpty());
    world.make_network();
    EXPECT_EQ(world.rules().size(), 1u);
}

// SVC-08, SVC-11, LIM-16
TEST(KernelspaceProxy, SVC08_SaysWhatAHostLacksForWhatIsAsked) {
    const IpAddress source = IpAddress::parse("10.244.3.254").value();
    const struct {
        const char* name;
        const char* release;
        const char* type;
        KernelspaceOptions options;
        const char* message;
    } rows[] = {
        {"overlay without a source", "2022", "Overlay", {}, "source-vip flag not set"},
        {"overlay without its gate",
         "2022",
         "Overlay",
         {.source_vip = source, .overlay_gate = false},
         "WinOverlay feature gate not enabled"},
        {"the first version of the API on 1803",
         "1803",
         "L2Bridge",
         {.enable_dsr = true},
         "has version 7.2; the kernelspace proxy needs 9.2 or later"},
        {"no version 2", "2016", "L2Bridge", {}, "has version 6.2; the kernelspace proxy needs 9.2 or later"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        World world(row.release);
        if (std::string(row.release) == "2022") world.make_network("cbr0", row.type);
        world.start(row.options);
        ASSERT_TRUE(world.ended);
        EXPECT_THAT(world.ended->message, HasSubstr(row.message));
    }
}

// SVC-09, LIM-16
TEST(KernelspaceProxy, SVC09_AServer2019WithoutItsUpdateEndsTheProxyWithTheUpdatesName) {
    emulator::Profile without = *emulator::find_profile("2019");
    for (const std::uint32_t minor : {1u, 2u}) {
        without.version = {9, minor};
        World world(without);
        if (minor == 2) world.make_network("vxlan0", "Overlay");
        world.start({.network_name = "vxlan0", .source_vip = IpAddress::parse("10.244.3.254").value()});
        ASSERT_EQ(world.ended.has_value(), minor == 1) << "9.2 has the update";
        if (minor == 1) {
            EXPECT_EQ(world.ended->message,
                      "the host network service has version 9.1; the kernelspace proxy needs 9.2 or later; install update KB4482887");
        }
    }
}

// SVC-11
TEST(KernelspaceProxy, SVC11_DirectServerReturnOnABuildWithoutItEndsTheProxyWithTheCause) {
    emulator::Profile without = *emulator::find_profile("2019");
    without.version = {9, 2};  // before its later updates
    for (const bool asked : {true, false}) {
        World world(without);
        world.make_network();
        world.start({.enable_dsr = asked});
        ASSERT_EQ(world.ended.has_value(), asked) << "without it the proxy runs";
        if (asked) {
            EXPECT_THAT(
                world.ended->message,
                HasSubstr("Platform does not support feature DSR: the host network service has version 9.2; leave out --enable-dsr"));
        }
    }
}

TEST(KernelspaceProxy, ChangesOnlyWhatAServiceChanges) {
    World world("2025");
    world.make_network();
    for (int i = 0; i < 50; ++i) {
        const std::string name = "s" + std::to_string(i);
        world.api.put(service(name, "10.96.1." + std::to_string(i)));
        world.api.put(slice({"10.244.4." + std::to_string(i + 1)}, name));
    }
    world.start();
    ASSERT_EQ(world.rules().size(), 50u);
    world.counted.reads = world.counted.writes = 0;
    world.api.put(slice({"10.244.4.200"}, "s7"));
    world.loop.advance(100ms);
    EXPECT_LE(world.counted.writes, 3) << "a remote endpoint made, the load balancer changed, a remote endpoint removed";
    EXPECT_LE(world.counted.reads, 3);
    EXPECT_THAT(world.rules(), testing::Contains("10.96.1.7:80->8080 10.244.4.200"));
    for (const auto& endpoint : world.endpoints()) EXPECT_NE(endpoint.ip_configurations[0].ip_address, "10.244.4.8");
    world.counted.writes = 0;
    world.loop.advance(60s);
    EXPECT_EQ(world.counted.writes, 0) << "nothing has changed";
}

// TRB-07
TEST(KernelspaceProxy, TRB07_ANameThatIsNotTheKubeletsIsLoggedAndNothingIsProgrammed) {
    World world;
    world.make_network();
    world.api.erase<core::Node>({"", "win1"});
    world.api.put(node("WIN-HOST.example.com", "192.0.2.13"));
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.told, HasSubstr("is --hostname-override right? win1"));
    world.loop.advance(std::chrono::minutes(5));
    EXPECT_THAT(world.rules(), IsEmpty()) << "it does not know which pods are its own";
    world.api.put(node("win1", "192.0.2.13"));
    world.loop.advance(5s);
    EXPECT_THAT(world.rules(), testing::SizeIs(1));
}

// TRB-07, SVC-25: a name that was copied with the command line of another node
TEST(KernelspaceProxy, TRB07_AnotherNodesNameIsLoggedAndNothingIsProgrammed) {
    World world;
    world.make_network();
    world.api.put(node("win1", "192.0.2.14"));
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.told,
                HasSubstr("no adapter of this machine has the node's address in the API; is --hostname-override right? win1 192.0.2.14"));
    world.loop.advance(std::chrono::minutes(5));
    EXPECT_THAT(world.rules(), IsEmpty());
    world.addresses = {"192.0.2.14"};  // as after the switch of a new HNS network has taken the address over
    world.loop.advance(5s);
    EXPECT_THAT(world.rules(), testing::SizeIs(1));
}

// SVC-25
TEST(KernelspaceProxy, AGivenAddressIsNotLookedFor) {
    World world;
    world.make_network();
    world.addresses = {};
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start({.node_ip = IpAddress::parse("192.0.2.99").value()});
    EXPECT_THAT(world.rules(), testing::SizeIs(1));
}

TEST(KernelspaceProxy, RemovesWhatAServiceNeededWhenItGoes) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    world.api.erase<core::Service>({"default", "web"});
    world.loop.advance(1s);
    EXPECT_THAT(world.rules(), IsEmpty());
    ASSERT_EQ(world.endpoints().size(), 1u) << "the pod's own endpoint stays";
    EXPECT_EQ(world.endpoints()[0].name, "pod10.244.3.7_cbr0");
}

// SVC-25, LIM-44
TEST(KernelspaceProxy, SVC25_NeverTakesALocalPodForARemoteOne) {
    World world;
    world.make_network();
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9")) << "the CNI plugin has not made it yet";
    world.make_pod("10.244.3.7");
    world.loop.advance(2s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    world.api.put(slice({}));
    world.loop.advance(1s);
    EXPECT_EQ(world.endpoints().size(), 1u);
}

TEST(KernelspaceProxy, SVC25_WaitsUntilItsNodeIsInTheApi) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    world.api.erase<core::Node>({"", "win1"});
    world.api.put(service());
    world.api.put(slice({"10.244.3.7"}));
    world.start();
    EXPECT_THAT(world.rules(), IsEmpty());
    world.api.put(node("win1", "192.0.2.13"));
    world.loop.advance(3s);
    EXPECT_EQ(world.rules().size(), 1u);
}

// SVC-17, LIM-14: the service and what people are told
TEST(KernelspaceProxy, LocalTrafficPolicyActsAsClusterWithoutDirectServerReturnAndSaysSo) {
    World world("1809");
    world.make_network();
    world.make_pod("10.244.3.7");
    core::Service web = service();
    web.spec.type = "NodePort";
    web.spec.ports[0].node_port = 30080;
    web.spec.external_traffic_policy = "Local";
    world.api.put(web);
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("*:30080->8080 10.244.3.7 10.244.4.9", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    EXPECT_THAT(world.event_reasons(), ElementsAre("LocalTrafficPolicyNeedsDSR"));
    const auto event = world.api.list<core::Event>().front();
    EXPECT_EQ(event.type, "Warning");
    EXPECT_EQ(event.involved_object.name, "web");
    EXPECT_THAT(event.message, HasSubstr("spec.externalTrafficPolicy: Local acts as Cluster on nodes whose host network service"));

    World able("2019");
    able.make_network();
    able.make_pod("10.244.3.7");
    able.api.put(web);
    able.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    able.start();
    EXPECT_THAT(able.rules(), ElementsAre("*:30080->8080 10.244.3.7", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    EXPECT_THAT(able.event_reasons(), IsEmpty());
}

// SVC-14, LIM-20: told once a service, not with every change
TEST(KernelspaceProxy, AnAffinityTimeoutIsToldToHaveNoEffect) {
    World world;
    world.make_network();
    core::Service web = service();
    web.spec.session_affinity = "ClientIP";
    web.spec.session_affinity_config.emplace();
    web.spec.session_affinity_config->client_ip.emplace();
    web.spec.session_affinity_config->client_ip->timeout_seconds = 60;
    world.api.put(web);
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].port_mappings[0].distribution_type, porthole::hns::Distribution::SourceIp);
    world.api.put(slice({"10.244.4.10"}));
    web.metadata.labels["changed"] = "yes";
    world.api.put(web);
    world.loop.advance(30s);
    EXPECT_THAT(world.event_reasons(), ElementsAre("SessionAffinityTimeoutIgnored"));
}

// SVC-21, LIM-11
TEST(KernelspaceProxy, SVC21_CapsBackendsOnOldBuildsAndSaysSo) {
    World world("2019");
    world.make_network();
    std::vector<std::string> many;
    for (int i = 1; i <= 80; ++i) many.push_back("10.244.4." + std::to_string(i));
    world.api.put(service());
    world.api.put(slice(many));
    world.start();
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].host_compute_endpoints.size(), 64u);
    EXPECT_THAT(world.event_reasons(), ElementsAre("TooManyBackends"));
}

TEST(KernelspaceProxy, SVC21_LearnsTheLimitFromTheHost) {
    World world("2019");
    world.make_network();
    std::vector<std::string> many;
    for (int i = 1; i <= 80; ++i) many.push_back("10.244.4." + std::to_string(i));
    world.api.put(service());
    world.api.put(slice(many));
    world.start({.backend_limit = 1024});
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].host_compute_endpoints.size(), 64u);
}

// SVC-10, SVC-12, SVC-16: flags as they reach the host
TEST(KernelspaceProxy, SVC10_AsksForDirectServerReturnAndAffinity) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    core::Service web = service();
    web.spec.type = "LoadBalancer";
    web.spec.ports[0].node_port = 30080;
    web.spec.external_traffic_policy = "Local";
    web.spec.health_check_node_port = 32000;
    web.spec.session_affinity = "ClientIP";
    web.status.load_balancer.ingress = {{.ip = "203.0.113.5"}};
    world.api.put(web);
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start({.enable_dsr = true});
    EXPECT_THAT(world.rules(),
                ElementsAre("*:30080->8080 10.244.3.7", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9", "203.0.113.5:80->8080 10.244.3.7"));
    for (const auto& balancer : world.balancers()) {
        EXPECT_EQ(balancer.flags, porthole::hns::LoadBalancerFlags::EnableDirectServerReturn);
        EXPECT_EQ(balancer.port_mappings[0].distribution_type, porthole::hns::Distribution::SourceIp);
    }
    ASSERT_TRUE(world.health.told.contains(32000));
    EXPECT_EQ(world.health.told.at(32000).local_endpoints, 1u);
}

// SVC-08 (overlay), SVC-24
TEST(KernelspaceProxy, SVC24_RepresentsPodsOfOtherNodesOnAnOverlay) {
    World world;
    world.make_network("vxlan0", "Overlay");
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start({.network_name = "vxlan0", .source_vip = IpAddress::parse("10.244.3.254").value()});
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].source_vip, "10.244.3.254");
    std::map<std::string, std::string> providers;
    for (const auto& endpoint : world.endpoints()) {
        const auto settings = porthole::hns::find_settings<hcn::ProviderAddressSettings>(endpoint.policies, "ProviderAddress");
        providers[endpoint.ip_configurations[0].ip_address] = settings ? settings->provider_address : "";
    }
    EXPECT_EQ(providers["10.244.4.9"], "192.0.2.14") << "the node that has its subnet";
    EXPECT_EQ(providers["10.96.0.20"], "192.0.2.13") << "the service's address is here";
    EXPECT_TRUE(providers.contains("10.244.3.254")) << "the source address has an endpoint";
    ASSERT_TRUE(sim::run(world.loop, world.proxy->clean_up()));
    EXPECT_THAT(world.balancers(), IsEmpty());
    EXPECT_THAT(world.endpoints(), IsEmpty());
}

// SVC-08 (overlay)
TEST(KernelspaceProxy, SVC08_ReservesASourceAddressOnAnOverlayUnlessOneIsGiven) {
    World world;
    world.make_network("vxlan0", "Overlay");
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    std::vector<std::string> asked;
    int failures = 1;
    world.reserve = [&](const std::string& network, const IpPrefix& range) -> Result<IpAddress> {
        asked.push_back(network + " " + range.to_string());
        if (failures-- > 0) return Error(Reason::Io, "disk full");
        return range.base().plus(7);
    };
    world.start({.network_name = "vxlan0"});
    world.loop.advance(10s);
    EXPECT_FALSE(world.ended) << "a failed reservation is tried again";
    EXPECT_THAT(asked, ElementsAre("vxlan0 10.244.3.0/24", "vxlan0 10.244.3.0/24")) << "once it has one, it keeps it";
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].source_vip, "10.244.3.7");
    world.stop();
    world.start({.network_name = "vxlan0", .source_vip = IpAddress::parse("10.244.3.254").value()});
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_EQ(world.balancers()[0].source_vip, "10.244.3.254");
}

// SVC-31
TEST(KernelspaceProxy, SVC31_IgnoresServicesThatAreNotProxied) {
    World world;
    world.make_network();
    core::Service external = service("external");
    external.spec.type = "ExternalName";
    core::Service headless = service("headless");
    headless.spec.cluster_ip = "None";
    world.api.put(external);
    world.api.put(headless);
    world.api.put(slice({"10.244.4.9"}, "headless"));
    world.start();
    EXPECT_THAT(world.rules(), IsEmpty());
}

}  // namespace
}  // namespace porthole::proxy::hns
