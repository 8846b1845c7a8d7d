#include "cni/plugin/hns/hns_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/plugin/errors.h"
#include "cni/plugin/hns/wincni.h"
#include "cni/plugin/host_local/host_local.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cni {
namespace {

namespace emulator = porthole::hns::emulator;
using porthole::hns::all_settings;
using porthole::hns::find_settings;
using schema::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class NoLocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string&) override { return std::unique_ptr<FileLock>(); }
};

Value json(const std::string& text) { return schema::parse_json(text).value(); }

/// An emulated host with the networks that a node's set-up makes.
struct Host {
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    SeededRandom random{7};
    Logger log{make_null_sink(), "hns"};
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator hns;
    porthole::hns::Client client{hns};
    NoLocks locks;
    HostLocal host_local{files, locks, {.data_dir = "/leases", .colons = false}};
    Delegates delegates{files, nullptr, ".exe"};
    HnsPlugin bridge{{loop, hns, delegates}, NetworkStyle::Bridge};
    HnsPlugin overlay{{loop, hns, delegates}, NetworkStyle::Overlay};
    WinCni wincni{{loop, hns, delegates}};

    explicit Host(const char* release = "2022") : hns({loop, files, random, data_plane, log}, {"/hns", *emulator::find_profile(release)}) {
        delegates.add("host-local", host_local);
        EXPECT_TRUE(run(hns.start()));
    }
    ~Host() { EXPECT_TRUE(run(hns.close())); }

    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    static hcn::HostComputeNetwork network(const char* name, const char* type, const char* subnet, const char* gateway) {
        hcn::HostComputeNetwork network;
        network.name = name;
        network.type = type;
        hcn::Subnet listed;
        listed.ip_address_prefix = subnet;
        listed.routes = {{.next_hop = gateway, .destination_prefix = "0.0.0.0/0"}};
        if (std::string(type) == "Overlay") {
            listed.policies = {porthole::hns::make_policy("VSID", hcn::IsolationSettings{.isolation_id = 4096})};
        }
        network.ipams = {{.type = "Static", .subnets = {listed}}};
        return network;
    }
    Result<hcn::HostComputeNetwork> try_make(const hcn::HostComputeNetwork& wanted) {
        auto created = run(client.create(wanted));
        loop.advance(5s);
        return created;
    }
    void make_network(const char* name, const char* type, const char* subnet, const char* gateway) {
        const auto created = try_make(network(name, type, subnet, gateway));
        ASSERT_TRUE(created) << created.error().message;
    }
    void make_bridge() { make_network("cbr0", "L2Bridge", "10.244.3.0/24", "10.244.3.1"); }
    void make_overlay() { make_network("vxlan0", "Overlay", "10.244.3.0/24", "10.244.3.1"); }
    std::string make_namespace() {
        hcn::HostComputeNamespace space;
        space.type = "Host";
        return run(client.create(space)).value().id;
    }
    std::vector<hcn::HostComputeEndpoint> endpoints() { return run(client.list<hcn::HostComputeEndpoint>()).value(); }
    hcn::HostComputeEndpoint endpoint(const std::string& name) {
        return run(client.find<hcn::HostComputeEndpoint>(name)).value().value_or(hcn::HostComputeEndpoint{});
    }
    std::vector<std::string> leases(const std::string& network) {
        std::vector<std::string> names;
        const auto listed = files.list("/leases/" + network);
        if (!listed) return names;
        for (const auto& name : *listed) {
            if (std::isdigit(static_cast<unsigned char>(name[0]))) names.push_back(name);
        }
        return names;
    }
    void control(const std::string& request) { ASSERT_TRUE(run(hns.control(request))); }
};

CniRequest request(const std::string& id, const std::string& netns, Value config) {
    CniRequest request{.command = "ADD", .container_id = id, .netns = netns, .interface = "eth0", .version = "1.0.0"};
    request.config = std::move(config);
    request.network = request.config.string_at({"name"});
    return request;
}

const char* const BridgeConfig = R"({"cniVersion":"1.0.0","name":"cbr0","type":"win-bridge","apiVersion":2,
    "dns":{"nameservers":["10.96.0.10"],"search":["svc.cluster.local"]},
    "policies":[{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.244.0.0/16","10.96.0.0/12"]}}},
                {"name":"EndpointPolicy","value":{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}},
                {"name":"Other","value":{"Type":"nonsense"}}],
    "capabilities":{"portMappings":true,"dns":true},
    "ipam":{"type":"host-local","subnet":"10.244.3.0/24"}})";

const char* const OverlayConfig = R"({"cniVersion":"1.0.0","name":"vxlan0","type":"win-overlay","ipMasq":true,
    "policies":[{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT","ExceptionList":["10.96.0.0/12"]}}],
    "ipam":{"type":"host-local","subnet":"10.244.3.0/24"}})";

// NET-13, IPM-05, HNS-03, HNS-17
TEST(WinBridge, NET13_GivesAPodItsEndpoint) {
    Host host;
    host.make_bridge();
    const std::string space = host.make_namespace();
    const auto result = host.run(host.bridge.add(request("abc", space, json(BridgeConfig))));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->ips.size(), 1u);
    EXPECT_EQ(result->ips[0].address.to_string(), "10.244.3.3") << "the first two addresses are the gateways'";
    EXPECT_EQ(result->ips[0].prefix_length, 24);
    EXPECT_EQ(result->ips[0].gateway->to_string(), "10.244.3.2");
    EXPECT_EQ(result->interfaces[0].name, "abc_cbr0");
    EXPECT_EQ(result->dns.nameservers, (std::vector<std::string>{"10.96.0.10"}));

    const hcn::HostComputeEndpoint endpoint = host.endpoint("abc_cbr0");
    EXPECT_EQ(endpoint.mac_address, result->interfaces[0].mac);
    EXPECT_TRUE(porthole::hns::canonical_mac(endpoint.mac_address) == endpoint.mac_address);
    EXPECT_EQ(endpoint.host_compute_namespace, space);
    EXPECT_THAT(endpoint.dns.search, ElementsAre("svc.cluster.local"));
    EXPECT_EQ(endpoint.routes.at(0).next_hop, "10.244.3.2");
}

// NET-19, NET-22
TEST(WinBridge, NET19_UnderstandsPoliciesOfBothVersions) {
    Host host;
    host.make_bridge();
    Value config = json(BridgeConfig);
    config["ipMasqNetwork"] = "192.0.2.0/24";
    config["AdditionalArgs"] =
        json(R"([{"Name":"EndpointPolicy","Value":{"Type":"ROUTE","DestinationPrefix":"192.0.2.13/32","NeedEncap":true}}])");
    ASSERT_TRUE(host.run(host.bridge.add(request("abc", host.make_namespace(), config))));
    const auto policies = host.endpoint("abc_cbr0").policies;
    const auto nats = all_settings<hcn::OutboundNatSettings>(policies, "OutBoundNAT");
    ASSERT_EQ(nats.size(), 2u);
    EXPECT_THAT(nats[0].exceptions, ElementsAre("10.244.0.0/16", "10.96.0.0/12"));
    EXPECT_THAT(nats[1].exceptions, ElementsAre("192.0.2.0/24"));
    const auto routes = all_settings<hcn::SdnRoutePolicySettings>(policies, "SDNRoute");
    ASSERT_EQ(routes.size(), 2u);
    EXPECT_EQ(routes[0].destination_prefix, "10.96.0.0/12");
    EXPECT_TRUE(routes[0].need_encap);
    EXPECT_EQ(routes[1].destination_prefix, "192.0.2.13/32");
}

// SVC-23, DNS-07, DNS-08
TEST(WinBridge, SVC23_MapsHostPortsAndTakesThePodsDns) {
    Host host;
    host.make_bridge();
    Value config = json(BridgeConfig);
    config["runtimeConfig"] = json(R"({"portMappings":[{"hostPort":4444,"containerPort":80,"protocol":"TCP"},
        {"hostPort":5353,"containerPort":53,"protocol":"udp","hostIP":"192.0.2.13"},{"hostPort":0,"containerPort":1,"protocol":"tcp"}],
        "dns":{"servers":["10.96.0.99"],"searches":["team.svc.cluster.local"]}})");
    ASSERT_TRUE(host.run(host.bridge.add(request("abc", host.make_namespace(), config))));
    const auto endpoint = host.endpoint("abc_cbr0");
    const auto mappings = all_settings<hcn::PortMappingSettings>(endpoint.policies, "PortMapping");
    ASSERT_EQ(mappings.size(), 2u);
    EXPECT_EQ(mappings[0].protocol, 6u);
    EXPECT_EQ(mappings[0].external_port, 4444u);
    EXPECT_EQ(mappings[0].internal_port, 80u);
    EXPECT_EQ(mappings[1].vip, "192.0.2.13");
    EXPECT_THAT(endpoint.dns.server_list, ElementsAre("10.96.0.99"));
    EXPECT_THAT(endpoint.dns.search, ElementsAre("team.svc.cluster.local"));
}

// SVC-28
TEST(WinBridge, SVC28_LetsAPodReachItselfThroughItsService) {
    for (const auto& [release, policies] : {std::pair("2022", 2u), std::pair("1803", 1u)}) {
        SCOPED_TRACE(release);
        const auto features = emulator::find_profile(release)->features();
        WindowsNetConf conf;
        conf.policies = {read_endpoint_policy(json(R"({"Type":"OutBoundNAT","ExceptionList":["10.96.0.0/12"]})")).value()};
        conf.loopback_dsr = true;
        const auto planned =
            plan_endpoint(NetworkStyle::Bridge, "x", conf, {}, {{IpAddress::parse("10.244.3.7").value(), 24, {}, {}}}, features);
        const auto nats = all_settings<hcn::OutboundNatSettings>(planned->policies, "OutBoundNAT");
        ASSERT_EQ(nats.size(), policies);
        if (policies == 2) EXPECT_THAT(nats[1].destinations, ElementsAre("10.244.3.7"));
    }
}

TEST(WinBridge, ReturnsTheEndpointThatIsThereToASecondAdd) {
    Host host;
    host.make_bridge();
    const std::string space = host.make_namespace();
    const auto first = host.run(host.bridge.add(request("abc", space, json(BridgeConfig)))).value();
    const auto second = host.run(host.bridge.add(request("abc", space, json(BridgeConfig)))).value();
    EXPECT_EQ(first.ips[0].address, second.ips[0].address);
    EXPECT_EQ(first.interfaces[0].mac, second.interfaces[0].mac);
    EXPECT_EQ(host.endpoints().size(), 1u);
    EXPECT_EQ(host.leases("cbr0").size(), 1u);
}

TEST(WinBridge, DeletesEverythingAndTwice) {
    Host host;
    host.make_bridge();
    const CniRequest pod = request("abc", host.make_namespace(), json(BridgeConfig));
    ASSERT_TRUE(host.run(host.bridge.add(pod)));
    EXPECT_TRUE(host.run(host.bridge.remove(pod)));
    EXPECT_THAT(host.endpoints(), IsEmpty());
    EXPECT_THAT(host.leases("cbr0"), IsEmpty());
    CniRequest without_namespace = pod;
    without_namespace.netns.clear();
    EXPECT_TRUE(host.run(host.bridge.remove(without_namespace)));
}

// IPM-08
TEST(WinBridge, IPM08_LeavesNothingWhenHnsRefuses) {
    for (const char* call : {"HcnCreateEndpoint", "HcnModifyNamespace"}) {
        SCOPED_TRACE(call);
        Host host;
        host.make_bridge();
        const std::string space = host.make_namespace();
        host.control(R"({"fail":[{"call":")" + std::string(call) + R"(","hresult":"0x80070005","times":1}]})");
        EXPECT_FALSE(host.run(host.bridge.add(request("abc", space, json(BridgeConfig)))));
        EXPECT_THAT(host.endpoints(), IsEmpty());
        EXPECT_THAT(host.leases("cbr0"), IsEmpty());
        EXPECT_TRUE(host.run(host.bridge.add(request("abc", space, json(BridgeConfig)))));
    }
}

TEST(WinBridge, TriesAgainWhatPassesByItself) {
    Host host;
    host.make_bridge();
    const std::string space = host.make_namespace();
    host.control(
        R"({"fail":[{"call":"HcnCreateEndpoint","hresult":"0x803b0007","times":2},{"call":"HcnModifyNamespace","hresult":"0x800706ba","times":2}]})");
    EXPECT_TRUE(host.run(host.bridge.add(request("abc", space, json(BridgeConfig)))));
    EXPECT_EQ(host.endpoint("abc_cbr0").host_compute_namespace, space);
}

TEST(WinBridge, TakesAnAddressOverFromALeftoverButNotFromALivingPod) {
    Host host;
    host.make_bridge();
    hcn::HostComputeEndpoint leftover;
    leftover.name = "old_cbr0";
    leftover.host_compute_network = host.run(host.client.find<hcn::HostComputeNetwork>("cbr0")).value()->id;
    leftover.ip_configurations = {{.ip_address = "10.244.3.3"}};
    const auto held = host.run(host.client.create(leftover));
    ASSERT_TRUE(held) << held.error().message;
    const std::string space = host.make_namespace();
    const auto taken = host.run(host.bridge.add(request("abc", space, json(BridgeConfig))));
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(taken->ips[0].address.to_string(), "10.244.3.3");
    EXPECT_EQ(host.endpoints().size(), 1u);

    ASSERT_TRUE(host.files.remove_all("/leases"));  // the node has lost its leases, not its pods
    EXPECT_FALSE(host.run(host.bridge.add(request("def", host.make_namespace(), json(BridgeConfig)))));
    EXPECT_EQ(host.endpoint("abc_cbr0").host_compute_namespace, space);
    EXPECT_THAT(host.leases("cbr0"), IsEmpty());
}

TEST(WinBridge, RefusesWhatItCannotServe) {
    Host host;
    host.make_overlay();
    const std::string space = host.make_namespace();
    const auto no_network = host.run(host.bridge.add(request("abc", space, json(BridgeConfig))));
    ASSERT_FALSE(no_network);
    EXPECT_EQ(code_of(no_network.error()), 11u);
    EXPECT_THAT(no_network.error().message, HasSubstr("failed to find HNS network \"cbr0\""));
    Value config = json(BridgeConfig);
    config["name"] = "vxlan0";
    EXPECT_THAT(host.run(host.bridge.add(request("abc", space, config))).error().message, HasSubstr("is of type Overlay"));
    config["policies"] = json(R"([{"name":"EndpointPolicy","value":{"Type":"Wrong"}}])");
    EXPECT_THAT(host.run(host.bridge.add(request("abc", space, config))).error().message, HasSubstr("policy \"Wrong\""));
    EXPECT_THAT(host.run(host.bridge.add(request("abc", "eth", json(BridgeConfig)))).error().message,
                HasSubstr("not a valid HCN namespace ID"));
}

// IPM-04
TEST(WinBridge, RefusesTheAddressesOfAzureWithoutItsPlugin) {
    Host host;
    host.make_bridge();
    const Value config = json(R"({"name":"cbr0","ipam":{"type":"azure-vnet-ipam","environment":"azure"}})");
    const auto refused = host.run(host.bridge.add(request("abc", host.make_namespace(), config)));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("works with the plugin azure-vnet only"));
    EXPECT_THAT(host.endpoints(), IsEmpty());
}

// NET-32: upstream's plugins have no CHECK
TEST(WinBridge, NET32_ChecksWhatItHasMade) {
    Host host;
    host.make_bridge();
    const std::string space = host.make_namespace();
    CniRequest pod = request("abc", space, json(BridgeConfig));
    const CniResult result = host.run(host.bridge.add(pod)).value();
    pod.config["prevResult"] = to_value(result, "1.0.0");
    EXPECT_TRUE(host.run(host.bridge.check(pod)));

    CniRequest elsewhere = pod;
    elsewhere.netns = host.make_namespace();
    EXPECT_THAT(host.run(host.bridge.check(elsewhere)).error().message, HasSubstr("is not attached to namespace"));
    CniRequest other_address = pod;
    other_address.config["prevResult"] = json(R"({"cniVersion":"1.0.0","ips":[{"address":"10.244.3.99/24"}]})");
    EXPECT_THAT(host.run(host.bridge.check(other_address)).error().message, HasSubstr("has lost its address"));
    ASSERT_TRUE(host.run(host.client.remove<hcn::HostComputeEndpoint>(host.endpoint("abc_cbr0").id)));
    EXPECT_EQ(code_of(host.run(host.bridge.check(pod)).error()), 3u);
}

TEST(WinBridge, CollectsEndpointsOfSandboxesThatHaveGone) {
    Host host;
    host.make_bridge();
    ASSERT_TRUE(host.run(host.bridge.add(request("abc", host.make_namespace(), json(BridgeConfig)))));
    ASSERT_TRUE(host.run(host.bridge.add(request("def", host.make_namespace(), json(BridgeConfig)))));
    CniRequest collect = request("", "", json(BridgeConfig));
    collect.config["cni.dev/valid-attachments"] = json(R"([{"containerID":"def","ifname":"eth0"}])");
    EXPECT_TRUE(host.run(host.bridge.collect(collect)));
    ASSERT_EQ(host.endpoints().size(), 1u);
    EXPECT_EQ(host.endpoints()[0].name, "def_cbr0");
    EXPECT_THAT(host.leases("cbr0"), ElementsAre("10.244.3.4"));
}

// IPM-03
TEST(WinBridge, IPM03_LetsHnsChooseTheAddressWithoutIpam) {
    Host host;
    host.make_bridge();
    Value config = json(BridgeConfig);
    config.erase("ipam");
    const auto result = host.run(host.bridge.add(request("abc", host.make_namespace(), config)));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->ips.size(), 1u);
    EXPECT_TRUE(IpPrefix::parse("10.244.3.0/24")->contains(result->ips[0].address));
    EXPECT_EQ(result->ips[0].prefix_length, 24);
}

// NET-14
TEST(WinOverlay, NET14_GivesAPodItsEndpoint) {
    Host host;
    host.make_overlay();
    const auto result = host.run(host.overlay.add(request("abc", host.make_namespace(), json(OverlayConfig))));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->ips[0].address.to_string(), "10.244.3.2");
    EXPECT_EQ(result->ips[0].gateway->to_string(), "10.244.3.1");
    const auto endpoint = host.endpoint("abc_vxlan0");
    EXPECT_EQ(endpoint.mac_address, "0E-2A-0A-F4-03-02");
    EXPECT_EQ(find_settings<hcn::ProviderAddressSettings>(endpoint.policies, "ProviderAddress")->provider_address, "192.0.2.13");
    const auto nats = all_settings<hcn::OutboundNatSettings>(endpoint.policies, "OutBoundNAT");
    ASSERT_EQ(nats.size(), 2u);
    EXPECT_THAT(nats[1].exceptions, ElementsAre("10.244.3.0/24"));

    Value config = json(OverlayConfig);
    config["endpointMacPrefix"] = "02-AB";
    ASSERT_TRUE(host.run(host.overlay.add(request("def", host.make_namespace(), config))));
    EXPECT_EQ(host.endpoint("def_vxlan0").mac_address, "02-AB-0A-F4-03-03");
    config["endpointMacPrefix"] = "0x2";
    EXPECT_THAT(host.run(host.overlay.add(request("ghi", host.make_namespace(), config))).error().message, HasSubstr("format xx-xx"));
}

/// As make_bridge() does, and a range of IPv6.
hcn::HostComputeNetwork dual_stack_bridge() {
    hcn::HostComputeNetwork both = Host::network("cbr0", "L2Bridge", "10.244.3.0/24", "10.244.3.1");
    both.ipams[0].subnets.push_back(
        {.ip_address_prefix = "fd00:10:244:3::/64", .routes = {{.next_hop = "fd00:10:244:3::1", .destination_prefix = "::/0"}}});
    return both;
}

// NET-36, IPM-09
TEST(WinBridge, NET36_GivesAPodAnAddressOfEachFamily) {
    Host host;
    ASSERT_TRUE(host.try_make(dual_stack_bridge()));
    Value config = json(BridgeConfig);
    config["ipam"] = json(R"({"type":"host-local","ranges":[[{"subnet":"10.244.3.0/24"}],[{"subnet":"fd00:10:244:3::/64"}]]})");
    const CniRequest pod = request("abc", host.make_namespace(), config);
    const auto result = host.run(host.bridge.add(pod));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->ips.size(), 2u);
    EXPECT_EQ(result->ips[0].address.to_string(), "10.244.3.3");
    EXPECT_EQ(result->ips[0].gateway->to_string(), "10.244.3.2");
    EXPECT_EQ(result->ips[1].address.to_string(), "fd00:10:244:3::3");
    EXPECT_EQ(result->ips[1].prefix_length, 64);
    EXPECT_EQ(result->ips[1].gateway->to_string(), "fd00:10:244:3::2");

    const hcn::HostComputeEndpoint endpoint = host.endpoint("abc_cbr0");
    ASSERT_EQ(endpoint.ip_configurations.size(), 2u) << "one endpoint for both";
    EXPECT_EQ(endpoint.ip_configurations[1].ip_address, "fd00:10:244:3::3");
    ASSERT_EQ(endpoint.routes.size(), 2u);
    EXPECT_EQ(endpoint.routes[1].destination_prefix, "::/0");
    EXPECT_EQ(endpoint.routes[1].next_hop, "fd00:10:244:3::2");
    EXPECT_EQ(host.run(host.bridge.add(pod))->ips.size(), 2u) << "asked again";
    ASSERT_TRUE(host.run(host.bridge.remove(pod)));
    EXPECT_THAT(host.endpoints(), IsEmpty());
    EXPECT_THAT(host.files.list("/leases/cbr0").value(), testing::Not(testing::Contains("fd00_10_244_3__3")));
}

// NET-36, HNS-09, SVC-29
TEST(WinBridge, NET36_NeedsAReleaseWhoseHostNetworkServiceHasBoth) {
    constexpr std::uint32_t First = 19041;
    for (const emulator::Profile& profile : emulator::profiles()) {
        if (profile.build < 17763) continue;  // older ones are no nodes
        SCOPED_TRACE(profile.name);
        Host host(profile.name.data());
        const auto made = host.try_make(dual_stack_bridge());
        EXPECT_EQ(made.has_value(), profile.build >= First);
        if (!made) EXPECT_THAT(made.error().message, HasSubstr("This release has no IPv6 on networks."));
    }
}

// NET-37, LIM-12
TEST(WinOverlay, NET37_RefusesIpv6) {
    Host host;
    host.make_overlay();
    Value config = json(OverlayConfig);
    config["ipam"] = json(R"({"type":"host-local","ranges":[[{"subnet":"fd00::/64"}]]})");
    EXPECT_THAT(host.run(host.overlay.add(request("abc", host.make_namespace(), config))).error().message, HasSubstr("IPv4 only"));
    EXPECT_THAT(host.leases("vxlan0"), IsEmpty());
}

// NET-18
TEST(WinCniPlugin, NET18_MakesTheNetworkOfThePublishedConfiguration) {
    Host host;
    Value config =
        json(R"({"cniVersion":"0.2.0","name":"l2bridge","type":"wincni.exe","master":"Ethernet","capabilities":{"portMappings":true},
        "ipam":{"environment":"azure","subnet":"10.10.187.64/26","routes":[{"GW":"10.10.187.66"}]},
        "dns":{"Nameservers":["11.0.0.10"],"Search":["svc.cluster.local"]},
        "AdditionalArgs":[{"Name":"EndpointPolicy","Value":{"Type":"OutBoundNAT","ExceptionList":["11.0.0.0/8","10.10.0.0/16"]}},
                          {"Name":"EndpointPolicy","Value":{"Type":"ROUTE","DestinationPrefix":"11.0.0.0/8","NeedEncap":true}}]})");
    CniRequest pod = request("abc", host.make_namespace(), config);
    pod.arguments = {{"K8S_POD_NAMESPACE", "team"}};
    const auto result = host.run(host.wincni.add(pod));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(IpPrefix::parse("10.10.187.64/26")->contains(result->ips[0].address));
    const auto network = host.run(host.client.find<hcn::HostComputeNetwork>("l2bridge")).value();
    ASSERT_TRUE(network);
    EXPECT_EQ(network->type, "L2Bridge");
    EXPECT_EQ(network->ipams[0].subnets[0].routes[0].next_hop, "10.10.187.66");
    const auto endpoint = host.endpoint("abc_l2bridge");
    EXPECT_EQ(endpoint.dns.domain, "team.svc.cluster.local");
    EXPECT_TRUE(find_settings<hcn::SdnRoutePolicySettings>(endpoint.policies, "SDNRoute"));
    ASSERT_TRUE(host.run(host.wincni.add(request("def", host.make_namespace(), config))));
    EXPECT_EQ(host.run(host.client.list<hcn::HostComputeNetwork>()).value().size(), 1u);
}

// EMU-07 and the issue's churn: nothing is left after many cycles with faults
TEST(WinBridge, LeaksNothingOverManyCyclesWithFaults) {
    Host host;
    host.make_bridge();
    SeededRandom random(11);
    for (int cycle = 0; cycle < 200; ++cycle) {
        const std::string space = host.make_namespace();
        if (random.below(3) == 0) {
            const char* calls[] = {"HcnCreateEndpoint", "HcnModifyNamespace", "HcnDeleteEndpoint", "HcnQueryEndpointProperties"};
            host.control(R"({"fail":[{"call":")" + std::string(calls[random.below(4)]) + R"(","hresult":"0x8000ffff","times":1}]})");
        }
        const CniRequest pod = request("pod" + std::to_string(cycle), space, json(BridgeConfig));
        (void)host.run(host.bridge.add(pod));
        bool removed = host.run(host.bridge.remove(pod)).has_value();
        if (!removed) removed = host.run(host.bridge.remove(pod)).has_value();
        ASSERT_TRUE(removed);
        host.control(R"({"clear":true})");
        ASSERT_TRUE(host.run(host.client.remove<hcn::HostComputeNamespace>(space)));
    }
    EXPECT_THAT(host.endpoints(), IsEmpty());
    EXPECT_THAT(host.leases("cbr0"), IsEmpty());
    EXPECT_THAT(host.data_plane.made().endpoints, IsEmpty());
}

}  // namespace
}  // namespace porthole::cni
