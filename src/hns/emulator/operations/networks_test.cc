#include "hns/emulator/emulator_fixture.h"

namespace porthole::hns::emulator {
namespace {

using NetworksTest = EmulatorFixture;

std::string find_provider(const hcn::HostComputeNetwork& network) {
    const auto provider = find_settings<hcn::ProviderAddressSettings>(network.policies, hcn::NetworkPolicyType::ProviderAddress);
    return provider ? provider->provider_address : "";
}
std::string find_router(const hcn::HostComputeNetwork& network) {
    const auto router = find_settings<hcn::DrMacAddressSettings>(network.policies, hcn::NetworkPolicyType::DrMacAddress);
    return router ? router->address : "";
}

// HNS-02: what a client reads back right after creating.
TEST_F(NetworksTest, CompletesADocumentAndLeavesOutWhatIsZero) {
    start();
    const auto id = get(emulator().create(ObjectKind::Network, "", R"({"Name":"nat","SchemaVersion":{"Major":2,"Minor":0}})"));
    const auto json = get(emulator().query(ObjectKind::Network, id, ""));
    EXPECT_EQ(json.find("\"Type\":\"NAT\""), std::string::npos) << json;
    EXPECT_EQ(json.find("\"Flags\""), std::string::npos) << json;
    EXPECT_NE(json.find("\"ID\":\"" + id + "\""), std::string::npos) << json;
    const auto network = get(client().get<hcn::HostComputeNetwork>(id));
    EXPECT_EQ(type_of(network), hcn::NetworkMode::Nat);
    const hcn::Subnet& subnet = network.ipams.at(0).subnets.at(0);
    EXPECT_EQ(subnet.ip_address_prefix, "172.16.0.0/20");
    EXPECT_EQ(subnet.routes.at(0).next_hop, "172.16.0.1");
    EXPECT_TRUE(is_guid(subnet.id));
    EXPECT_TRUE(network.mac_pool.ranges.at(0).start_mac_address.starts_with("00-15-5D-"));
}

// HNS-13: the management address comes back about a second after the switch is made.
TEST_F(NetworksTest, ShowsTheManagementAddressOfAnOverlayNetworkAfterASecond) {
    start();
    auto network = make_overlay();
    EXPECT_EQ(find_provider(network), "");
    loop.advance(std::chrono::milliseconds(1100));
    network = get(client().get<hcn::HostComputeNetwork>(network.id));
    EXPECT_EQ(find_provider(network), "192.0.2.13");
    EXPECT_TRUE(find_router(network).starts_with("00-15-5D-"));
    EXPECT_EQ(get(client_v1().network(network.id)).management_ip, "192.0.2.13");
    EXPECT_EQ(data_plane.made().networks.at(network.id)->management_address, "192.0.2.13");
}

TEST_F(NetworksTest, TakesTheIdOfTheDocumentAndRefusesItTwice) {
    start();
    auto document = network("a", hcn::NetworkMode::Internal, "10.1.0.0/24", "10.1.0.1");
    document.id = "4b5e6b2b-1a2c-4d5e-8f00-0123456789ab";
    EXPECT_EQ(get(client().create(document)).id, "4B5E6B2B-1A2C-4D5E-8F00-0123456789AB");
    document.name = "b";
    EXPECT_EQ(code_of(client().create(document)), Hresult::NetworkAlreadyExists);
    EXPECT_TRUE(get(client().find<hcn::HostComputeNetwork>("a")));
    EXPECT_FALSE(get(client().find<hcn::HostComputeNetwork>("b")));
}

// EMU-04, HNS-16: the codes of what a release refuses.
TEST_F(NetworksTest, RefusesBadDocumentsWithTheServicesCodes) {
    start();
    make_bridge("first");
    const auto bridge = [](const std::string& prefix, const std::string& gateway) {
        return network("x", hcn::NetworkMode::L2Bridge, prefix, gateway);
    };
    EXPECT_EQ(code_of(client().create(bridge("10.9.3.7/24", "10.9.3.1"))), Hresult::InvalidPrefix);
    EXPECT_EQ(code_of(client().create(bridge("10.9.4.0/24", "gateway"))), Hresult::InvalidIp);
    auto twice = bridge("10.9.4.0/24", "10.9.4.1");
    twice.ipams[0].subnets.push_back(twice.ipams[0].subnets[0]);
    EXPECT_EQ(code_of(client().create(twice)), Hresult::InvalidSubnet);
    EXPECT_EQ(code_of(client().create(network("x", "Infiniband", "10.9.4.0/24", "10.9.4.1"))), Hresult::InvalidNetworkType);
    EXPECT_EQ(code_of(client().create(network("first", "Internal", "10.9.4.0/24", "10.9.4.1"))), Hresult::NetworkAlreadyExists);
    EXPECT_EQ(code_of(client().create(network("x", "Overlay", "fd00::/64", "fd00::1"))), Hresult::InvalidSubnet);
    auto adapter = bridge("10.9.4.0/24", "10.9.4.1");
    hcn::NetAdapterNameSettings name;
    name.network_adapter_name = "Ethernet 7";
    adapter.policies.push_back(make_policy("NetAdapterName", name));
    EXPECT_EQ(code_of(client().create(adapter)), Hresult::AdapterNotFound);
    EXPECT_EQ(code_of(emulator().create(ObjectKind::Network, "", "{")), Hresult::InvalidJson);
    EXPECT_EQ(emulator().model().networks.size(), 1u);
}

TEST_F(NetworksTest, SharesAnAdapterOnlyAmongNetworksOfOneType) {
    start();
    make_bridge();
    EXPECT_EQ(code_of(client().create(network("b", "L2Bridge", "10.9.4.0/24", "10.9.4.1"))), Hresult::Ok);
    EXPECT_EQ(code_of(client().create(network("o", "Overlay", "10.9.5.0/24", "10.9.5.1"))), Hresult::AdapterNotFound);
}

TEST_F(NetworksTest, RefusesANetworkWhenAllPoolsOfMacAddressesAreTaken) {
    start();
    hcn::HostComputeNetwork greedy, other;
    greedy.name = "greedy";
    other.name = "other";
    greedy.type = other.type = hcn::NetworkMode::Private;
    for (int i = 0; i < 2048; ++i) {
        const auto address = [&](int last) {
            return fmt::format("00-15-5D-{:02X}-{:02X}-{:02X}", i / 16, i % 16 * 16 + last / 256, last % 256);
        };
        hcn::MacRange& range = greedy.mac_pool.ranges.emplace_back();
        range.start_mac_address = address(0);
        range.end_mac_address = address(4095);
    }
    get(client().create(greedy));
    EXPECT_EQ(code_of(client().create(other)), Hresult::InvalidNetwork);
}

TEST_F(NetworksTest, RefusesAChangeOfASubnetWithoutAPrefix) {
    start();
    const auto id =
        get(emulator().create(ObjectKind::Network, "", R"({"Name":"n","Type":"Private","Ipams":[{"Type":"DHCP","Subnets":[{}]}]})"));
    const char* const change = R"({"ResourceType":"Subnet","RequestType":"Remove","Settings":{"Subnets":[{}]}})";
    EXPECT_FALSE(sim::run(loop, emulator().modify(ObjectKind::Network, id, change)));
}

TEST_F(NetworksTest, WantsAnOverlayIdOfAtLeast4096) {
    start();
    auto low = network("o", "Overlay", "10.9.3.0/24", "10.9.3.1");
    hcn::IsolationSettings isolation;
    isolation.isolation_id = 4095;
    low.ipams[0].subnets[0].policies = {make_policy("VSID", isolation)};
    EXPECT_EQ(code_of(client().create(low)), Hresult::InvalidPolicy);
    low.ipams[0].subnets[0].policies.clear();
    EXPECT_EQ(code_of(client().create(low)), Hresult::InvalidPolicy);
}

// HNS-05: the routes to other hosts' subnets.
TEST_F(NetworksTest, AddsAndRemovesRemoteSubnetsByTheirWholeSettings) {
    start();
    const auto overlay = make_overlay();
    hcn::RemoteSubnetRouteSettings route;
    route.destination_prefix = "10.9.4.0/24";
    route.isolation_id = 4096;
    route.provider_address = "192.0.2.14";
    route.distributed_router_mac_address = "00:15:5d:00:00:0e";
    const auto policy = make_policy(hcn::NetworkPolicyType::RemoteSubnetRoute, route);
    done(client().modify_network_policies(overlay.id, "Add", {policy}));
    EXPECT_EQ(code_of(client().modify_network_policies(overlay.id, "Add", {policy})), Hresult::PolicyAlreadyExists);
    auto other = route;
    other.provider_address = "192.0.2.15";
    done(client().modify_network_policies(overlay.id, "Add", {make_policy("RemoteSubnetRoute", other)}));
    auto kept = get(client().get<hcn::HostComputeNetwork>(overlay.id));
    const auto routes = all_settings<hcn::RemoteSubnetRouteSettings>(kept.policies, "RemoteSubnetRoute");
    ASSERT_EQ(routes.size(), 2u);
    EXPECT_EQ(routes[0].distributed_router_mac_address, "00-15-5D-00-00-0E");
    other.isolation_id = 4097;
    EXPECT_EQ(code_of(client().modify_network_policies(overlay.id, "Remove", {make_policy("RemoteSubnetRoute", other)})),
              Hresult::PolicyNotFound);
    done(client().modify_network_policies(overlay.id, "Remove", {policy}));
    kept = get(client().get<hcn::HostComputeNetwork>(overlay.id));
    EXPECT_EQ(all_settings<hcn::RemoteSubnetRouteSettings>(kept.policies, "RemoteSubnetRoute").size(), 1u);
}

TEST_F(NetworksTest, TakesHostRouteOnce) {
    start();
    const auto overlay = make_overlay();
    done(client().modify_network_policies(overlay.id, "Add", {make_policy("HostRoute")}));
    EXPECT_EQ(code_of(client().modify_network_policies(overlay.id, "Add", {make_policy("HostRoute")})), Hresult::PolicyAlreadyExists);
}

// EMU-04: policies come with releases.
TEST_F(NetworksTest, KnowsSetsOnlyFrom2022) {
    hcn::SetPolicySettings set;
    set.id = "s1";
    set.policy_type = "IPSET";
    set.values = "10.0.0.1,10.1.0.0/16";
    start("2019");
    const auto old = make_bridge();
    EXPECT_EQ(code_of(client().modify_network_policies(old.id, "Add", {make_policy("SetPolicy", set)})), Hresult::InvalidPolicyType);
    restart("2022");
    done(client().modify_network_policies(old.id, "Add", {make_policy("SetPolicy", set)}));
    EXPECT_EQ(code_of(client().modify_network_policies(old.id, "Add", {make_policy("SetPolicy", set)})), Hresult::PolicyAlreadyExists);
}

// HNS-03
TEST_F(NetworksTest, TakesItsEndpointsAlongWhenRemoved) {
    start();
    const auto bridge = make_bridge();
    const auto pod = make_endpoint(bridge.id);
    const auto space = make_namespace();
    done(client().attach_endpoint(space.id, pod.id));
    done(client().remove<hcn::HostComputeNetwork>(bridge.id));
    EXPECT_EQ(code_of(client().get<hcn::HostComputeEndpoint>(pod.id)), Hresult::EndpointNotFound);
    EXPECT_TRUE(get(client().get<hcn::HostComputeNamespace>(space.id)).resources.empty());
    EXPECT_EQ(code_of(client().remove<hcn::HostComputeNetwork>(bridge.id)), Hresult::NetworkNotFound);
    EXPECT_TRUE(data_plane.made().endpoints.empty());
}

}  // namespace
}  // namespace porthole::hns::emulator
