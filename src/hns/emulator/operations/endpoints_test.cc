#include "hns/emulator/emulator_fixture.h"

namespace porthole::hns::emulator {
namespace {

using EndpointsTest = EmulatorFixture;

// HNS-03, IPM: what the service fills in.
TEST_F(EndpointsTest, GetsAddressMacAndRouteWhereItGivesNone) {
    start();
    const auto bridge = make_bridge();
    const auto first = make_endpoint(bridge.id), second = make_endpoint(bridge.id);
    EXPECT_EQ(first.ip_configurations.at(0).ip_address, "10.9.3.2");
    EXPECT_EQ(first.ip_configurations.at(0).prefix_length, 24u);
    EXPECT_EQ(second.ip_configurations.at(0).ip_address, "10.9.3.3");
    EXPECT_EQ(first.routes.at(0).next_hop, "10.9.3.1");
    EXPECT_TRUE(first.mac_address.starts_with("00-15-5D-"));
    EXPECT_NE(first.mac_address, second.mac_address);
}

TEST_F(EndpointsTest, KeepsGivenAddressAndMac) {
    start();
    const auto overlay = make_overlay();
    auto document = endpoint(overlay.id, "10.9.3.7");
    document.name = "sandbox_vxlan0";
    document.mac_address = "0e-2a-0A-09-03-07";
    const auto made = get(client().create(document));
    EXPECT_EQ(made.mac_address, "0E-2A-0A-09-03-07");
    EXPECT_EQ(made.ip_configurations.at(0).ip_address, "10.9.3.7");
    EXPECT_EQ(get(client().find<hcn::HostComputeEndpoint>("sandbox_vxlan0"))->id, made.id);
    EXPECT_EQ(get(client().list_endpoints_of(overlay.id)).size(), 1u);
    EXPECT_TRUE(get(client().list_endpoints_of("00000000-0000-0000-0000-000000000001")).empty());
}

// EMU-04: the codes on which CNI plugins retry.
TEST_F(EndpointsTest, RefusesAddressesThatAreNotForIt) {
    start();
    const auto bridge = make_bridge();
    make_endpoint(bridge.id, "10.9.3.7");
    const struct {
        const char* name;
        const char* address;
        Hresult code;
    } rows[] = {
        {"outside", "10.9.4.7", Hresult::InvalidIp},
        {"no address", "ten", Hresult::InvalidIp},
        {"the gateway", "10.9.3.1", Hresult::AddressInvalidOrReserved},
        {"the network itself", "10.9.3.0", Hresult::AddressInvalidOrReserved},
        {"broadcast", "10.9.3.255", Hresult::AddressInvalidOrReserved},
        {"in use", "10.9.3.7", Hresult::ObjectAlreadyExists},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(code_of(client().create(endpoint(bridge.id, row.address))), row.code);
    }
    EXPECT_EQ(emulator().model().endpoints.size(), 1u);
}

TEST_F(EndpointsTest, MayHaveTheGatewayAddressWhenItIsNotReserved) {
    start();
    auto document = network("cbr0", "L2Bridge", "10.9.3.0/24", "10.9.3.1");
    document.ipams[0].subnets[0].flags = SubnetFlags::DoNotReserveGatewayAddress;
    const auto bridge = get(client().create(document));
    EXPECT_EQ(make_endpoint(bridge.id, "10.9.3.1").ip_configurations.at(0).ip_address, "10.9.3.1");
}

TEST_F(EndpointsTest, HasOneNameInANetwork) {
    start();
    const auto bridge = make_bridge();
    auto document = endpoint(bridge.id);
    document.name = "pod";
    get(client().create(document));
    EXPECT_EQ(code_of(client().create(document)), Hresult::ObjectAlreadyExists);
    EXPECT_EQ(code_of(client().create(endpoint("00000000-0000-0000-0000-000000000001"))), Hresult::NetworkNotFound);
}

// Remote ones are what proxies make of pods on other hosts: anywhere, beside a local one, never in a namespace.
TEST_F(EndpointsTest, OfOtherHostsNeedNoSubnetAndCannotBeAttached) {
    start();
    const auto bridge = make_bridge();
    const auto remote = get(client().create(remote_endpoint(bridge.id, "10.9.4.9")));
    EXPECT_TRUE(remote.routes.empty());
    EXPECT_EQ(code_of(client().create(remote_endpoint(bridge.id, "10.9.4.9"))), Hresult::ObjectAlreadyExists);
    make_endpoint(bridge.id, "10.9.3.9");
    EXPECT_EQ(code_of(client().create(remote_endpoint(bridge.id, "10.9.3.9"))), Hresult::Ok);
    EXPECT_EQ(code_of(client().attach_endpoint(make_namespace().id, remote.id)), Hresult::InvalidRemoteEndpointOperation);
    auto nowhere = endpoint(bridge.id);
    nowhere.flags = EndpointFlags::RemoteEndpoint;
    EXPECT_EQ(code_of(client().create(nowhere)), Hresult::InvalidEndpoint);
}

TEST_F(EndpointsTest, RunsOutOfAddresses) {
    start();
    const auto bridge = get(client().create(network("small", "L2Bridge", "10.9.3.0/29", "10.9.3.1")));
    for (int i = 0; i < 5; ++i) make_endpoint(bridge.id);
    EXPECT_EQ(code_of(client().create(endpoint(bridge.id))), Hresult::AddressInvalidOrReserved);
}

// HNS-08: host ports are reserved once, whoever asks.
TEST_F(EndpointsTest, ReservesItsHostPorts) {
    start();
    const auto bridge = make_bridge();
    const auto mapped = [&](std::uint32_t port, std::uint32_t protocol, const std::string& vip) {
        hcn::PortMappingSettings mapping;
        mapping.internal_port = 80;
        mapping.external_port = port;
        mapping.protocol = protocol;
        mapping.vip = vip;
        auto document = endpoint(bridge.id);
        document.policies.push_back(make_policy("PortMapping", mapping));
        return document;
    };
    const auto first = get(client().create(mapped(4444, Protocol::Tcp, "")));
    EXPECT_EQ(code_of(client().create(mapped(4444, Protocol::Tcp, ""))), Hresult::PortAlreadyExists);
    EXPECT_EQ(code_of(client().create(mapped(4444, Protocol::Tcp, "192.0.2.13"))), Hresult::PortAlreadyExists);
    EXPECT_EQ(code_of(client().create(mapped(4444, Protocol::Udp, ""))), Hresult::Ok);
    EXPECT_EQ(code_of(client().create(mapped(4445, Protocol::Sctp, ""))), Hresult::InvalidPolicy);
    EXPECT_EQ(code_of(client().create(balancer({first.id}, {}, 4444))), Hresult::PortAlreadyExists);
    done(client().remove<hcn::HostComputeEndpoint>(first.id));
    EXPECT_EQ(code_of(client().create(mapped(4444, Protocol::Tcp, ""))), Hresult::Ok);
}

// HNS-07, HNS-08
TEST_F(EndpointsTest, AddsReplacesAndRemovesPolicies) {
    start();
    const auto bridge = make_bridge();
    const auto pod = make_endpoint(bridge.id);
    hcn::OutboundNatSettings nat;
    nat.exceptions = {"10.9.0.0/16", "10.96.0.0/12"};
    hcn::AclSettings acl;
    acl.action = "Block";
    acl.direction = "In";
    acl.protocols = "6,17";
    acl.local_ports = "80,8000-8010";
    acl.priority = 100;
    done(client().modify_endpoint_policies(pod.id, "Add", {make_policy("OutBoundNAT", nat), make_policy("ACL", acl)}));
    acl.local_ports = "90";
    done(client().modify_endpoint_policies(pod.id, "Update", {make_policy("ACL", acl)}));
    auto now = get(client().get<hcn::HostComputeEndpoint>(pod.id));
    ASSERT_EQ(now.policies.size(), 2u);
    EXPECT_EQ(find_settings<hcn::AclSettings>(now.policies, "ACL")->local_ports, "90");
    done(client().modify_endpoint_policies(pod.id, "Remove", {make_policy("OutBoundNAT", nat)}));
    EXPECT_EQ(code_of(client().modify_endpoint_policies(pod.id, "Remove", {make_policy("OutBoundNAT", nat)})), Hresult::PolicyNotFound);
    acl.local_ports = "80-";
    EXPECT_EQ(code_of(client().modify_endpoint_policies(pod.id, "Add", {make_policy("ACL", acl)})), Hresult::InvalidPolicy);
    EXPECT_EQ(code_of(client().modify_endpoint_policies(pod.id, "Add", {make_policy("Nonsense")})), Hresult::InvalidPolicyType);
}

// HNS-04: one namespace holds the pod; containers join it.
TEST_F(EndpointsTest, AreAttachedToOneNamespaceAtATime) {
    start();
    const auto bridge = make_bridge();
    const auto pod = make_endpoint(bridge.id);
    const auto first = make_namespace(), second = make_namespace();
    EXPECT_EQ(first.type, hcn::NamespaceType::Host);
    EXPECT_EQ(first.namespace_id, 2u);
    EXPECT_EQ(second.namespace_id, 3u);
    done(client().attach_endpoint(first.id, pod.id));
    EXPECT_EQ(get(client().get<hcn::HostComputeEndpoint>(pod.id)).host_compute_namespace, first.id);
    EXPECT_EQ(get(client().get<hcn::HostComputeNamespace>(first.id)).resources.at(0).data.id, pod.id);
    EXPECT_EQ(code_of(client().attach_endpoint(first.id, pod.id)), Hresult::EndpointAlreadyAttached);
    EXPECT_EQ(code_of(client().attach_endpoint(second.id, pod.id)), Hresult::EndpointNamespaceAlreadyExists);
    EXPECT_EQ(code_of(client().detach_endpoint(second.id, pod.id)), Hresult::ElementNotFound);
    done(client().attach_container(first.id, "container-1"));
    EXPECT_EQ(get(client_v1().endpoint(pod.id)).shared_containers, std::vector<std::string>{"container-1"});
    done(client().remove<hcn::HostComputeNamespace>(first.id));
    EXPECT_EQ(get(client().get<hcn::HostComputeEndpoint>(pod.id)).host_compute_namespace, "");
    EXPECT_EQ(code_of(client().attach_endpoint(first.id, pod.id)), Hresult::ElementNotFound);
    done(client().attach_endpoint(second.id, pod.id));
    done(client().remove<hcn::HostComputeEndpoint>(pod.id));
    EXPECT_TRUE(get(client().get<hcn::HostComputeNamespace>(second.id)).resources.empty());
    EXPECT_EQ(make_namespace().namespace_id, 2u);
}

}  // namespace
}  // namespace porthole::hns::emulator
