// Real packets over VXLAN between emulated hosts and a Linux node. Needs root; skipped without.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hns/emulator/data_plane/linux/packet_lab.h"

namespace porthole::hns::emulator {
namespace {

constexpr const char* RouterA = "00-15-5D-00-00-0A";
constexpr const char* RouterB = "00-15-5D-00-00-0B";
constexpr const char* RouterLinux = "00-15-5D-00-00-0C";

hcn::Policy remote_subnet(const std::string& prefix, const std::string& provider, const std::string& router) {
    hcn::RemoteSubnetRouteSettings settings;
    settings.destination_prefix = prefix;
    settings.isolation_id = 4096;
    settings.provider_address = provider;
    settings.distributed_router_mac_address = router;
    return make_policy("RemoteSubnetRoute", settings);
}

hcn::HostComputeNetwork overlay(const std::string& prefix, const std::string& router, std::vector<hcn::Policy> policies) {
    auto document = network("vxlan0", "Overlay", prefix + ".0/24", prefix + ".1", std::move(policies));
    hcn::IsolationSettings vsid;
    vsid.isolation_id = 4096;
    document.ipams[0].subnets[0].policies.push_back(make_policy("VSID", vsid));
    hcn::DrMacAddressSettings mac;
    mac.address = router;
    document.policies.push_back(make_policy("DrMacAddress", mac));
    return document;
}

/// 10.9.1.0/24 on a with pods web1 and web2, 10.9.2.0/24 on b with pod web3, 10.9.3.0/24 on a Linux node like Flannel's. No router
/// knows these addresses.
class OverlayPackets : public ::testing::Test {
protected:
    void SetUp() override {
        if (!lab.usable()) GTEST_SKIP() << "needs root";
        const auto to_linux = remote_subnet("10.9.3.0/24", "192.168.50.20", RouterLinux);
        lab.a->put(overlay("10.9.1", RouterA, {remote_subnet("10.9.2.0/24", "192.168.50.12", RouterB), to_linux}));
        lab.b->put(overlay("10.9.2", RouterB, {remote_subnet("10.9.1.0/24", "192.168.50.11", RouterA), to_linux}));
        add_pod(*lab.a, "web1", "10.9.1.5");
        add_pod(*lab.a, "web2", "10.9.1.6");
        add_pod(*lab.b, "web3", "10.9.2.5");
        web1 = lab.a->pod("web1");
        web3 = lab.b->pod("web3");
    }
    void add_pod(LabHost& host, const std::string& name, const std::string& address) {
        const std::string gateway = address.substr(0, address.rfind('.')) + ".1";
        host.put(endpoint(name, "vxlan0", address, gateway, {outbound_nat({"10.9.0.0/16", "10.96.0.0/12"}), encap_route("10.96.0.0/12")}),
                 name);
        host.apply();
        lab.servers.add(host.pod(name), name, 8080);
    }
    void set_host_route(LabHost& host) {
        host.put(overlay("10.9.1", RouterA, {remote_subnet("10.9.2.0/24", "192.168.50.12", RouterB), make_policy("HostRoute")}));
        host.apply();
    }
    PacketLab lab;
    std::string web1, web3;
};

// EMU-02, NET-06, NET-23, NET-24
TEST_F(OverlayPackets, FlowBetweenPodsOfBothHosts) {
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "10.9.1.6", 8080, transport), "web2 10.9.1.5") << "same host";
        EXPECT_EQ(ask(web1, "10.9.2.5", 8080, transport), "web3 10.9.1.5") << "other host";
        EXPECT_EQ(ask(web3, "10.9.1.5", 8080, transport), "web1 10.9.2.5") << "other host, back";
    }
    EXPECT_TRUE(ping(web1, "10.9.2.5"));
    EXPECT_EQ(ask(web1, "10.9.1.99", 8080), "No route to host") << "no such pod";
}

// NET-06: as Flannel sets a Linux node up for a Windows cluster
TEST_F(OverlayPackets, FlowToAndFromALinuxNodeLikeFlannels) {
    const std::string node = lab.add_machine("linux", "192.168.50.20", "eth0");
    shell(node,
          "sysctl -qw net.ipv4.ip_forward=1;"
          "ip link add flannel.4096 address 00:15:5d:00:00:0c type vxlan id 4096 dstport 4789 local 192.168.50.20 dev eth0 nolearning;"
          "ip link set flannel.4096 up; ip addr add 10.9.3.0/32 dev flannel.4096; ip link add cni0 type bridge; ip link set cni0 up;"
          "ip addr add 10.9.3.1/24 dev cni0;"
          "ip route add 10.9.1.0/24 via 10.9.1.0 dev flannel.4096 onlink;"
          "ip neigh add 10.9.1.0 lladdr 00:15:5d:00:00:0a dev flannel.4096 nud permanent;"
          "bridge fdb add 00:15:5d:00:00:0a dev flannel.4096 dst 192.168.50.11");
    lab.servers.add(node, "linux", 8080);
    EXPECT_EQ(ask(web1, "10.9.3.1", 8080), "linux 10.9.1.5");
    EXPECT_EQ(ask(node, "10.9.1.5", 8080), "web1 10.9.3.0") << "a Linux host reaches Windows pods";
}

// NET-30, LIM-18, EMU-04
TEST_F(OverlayPackets, OfTheHostReachLocalPodsOnlyAndOnlyWithAHostRoute) {
    lab.servers.add(lab.a->path(), "host-a", 10250);
    EXPECT_EQ(ask(lab.a->path(), "10.9.1.5", 8080), "No route to host");
    EXPECT_NE(ask_in_vain(web1, "192.168.50.11", 10250), "host-a 10.9.1.5");
    EXPECT_EQ(ask(lab.a->path(), "10.9.2.5", 8080), "No route to host");
    set_host_route(*lab.a);
    EXPECT_EQ(ask(lab.a->path(), "10.9.1.5", 8080).substr(0, 4), "web1");
    EXPECT_EQ(ask(web1, "192.168.50.11", 10250), "host-a 10.9.1.5");
    EXPECT_EQ(ask(lab.a->path(), "10.9.2.5", 8080), "No route to host") << "a pod of another host still not";
    EXPECT_TRUE(ping(lab.a->path(), "10.9.1.5"));
    shell(lab.router, "ip route add 10.9.1.0/24 via 192.168.50.11");
    EXPECT_EQ(ask(lab.router, "10.9.1.5", 8080), "No route to host") << "from outside never";
}

// NET-19, NET-28, NET-31
TEST_F(OverlayPackets, LeaveTheOverlayWithTheHostsAddress) {
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "198.51.100.7", 8080, transport), "far 192.168.50.11");
        EXPECT_EQ(ask(web1, "192.168.50.1", 8080, transport), "router 192.168.50.11");
    }
    EXPECT_FALSE(ping(web1, "198.51.100.7"));
}

// SVC-08, SVC-10, SVC-24
TEST_F(OverlayPackets, ReachServicesDirectlyOrFromTheSourceAddress) {
    // As the proxy makes them: the source address is an endpoint that nobody attaches, remote pods and the VIP are remote endpoints.
    lab.a->put(endpoint("source", "vxlan0", "10.9.1.2", ""));
    lab.a->put(remote_endpoint("remote3", "vxlan0", "10.9.2.5"));
    lab.a->put(remote_endpoint("vip", "vxlan0", "10.96.0.10"));
    auto direct = load_balancer("direct", {"remote3"}, "10.96.0.10", 80);
    auto translated = load_balancer("translated", {"remote3"}, "10.96.0.11", 80, 0);
    auto near = load_balancer("near", {"web2"}, "10.96.0.12", 80, 0);
    auto node_port = load_balancer("node-port", {"remote3"}, "", 30080, 0, PortMappingFlags::LocalRoutedVip);
    for (auto* balancer : {&direct, &translated, &near, &node_port}) {
        balancer->source_vip = "10.9.1.2";
        lab.a->put(*balancer);
    }
    lab.a->apply();
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "10.96.0.10", 80, transport), "web3 10.9.1.5");
        EXPECT_EQ(ask(web1, "10.96.0.11", 80, transport), "web3 10.9.1.2");
        EXPECT_EQ(ask(web1, "10.96.0.12", 80, transport), "web2 10.9.1.2");
        EXPECT_EQ(ask(lab.router, "192.168.50.11", 30080, transport), "web3 10.9.1.2") << "node port, backend elsewhere";
    }
    EXPECT_EQ(ask(lab.a->path(), "10.96.0.10", 80), "No route to host");
    EXPECT_EQ(ask(lab.a->path(), "192.168.50.11", 30080), "Connection refused");
}

TEST_F(OverlayPackets, FollowASubnetThatMovesToAnotherHost) {
    lab.a->put(overlay("10.9.1", RouterA, {remote_subnet("10.9.2.0/24", "192.168.50.77", RouterLinux)}));
    lab.a->apply();
    EXPECT_NE(ask_in_vain(web1, "10.9.2.5", 8080), "web3 10.9.1.5");
    // Of two policies for one prefix the last holds.
    lab.a->put(
        overlay("10.9.1", RouterA,
                {remote_subnet("10.9.2.0/24", "192.168.50.77", RouterLinux), remote_subnet("10.9.2.0/24", "192.168.50.12", RouterB)}));
    lab.a->apply();
    EXPECT_EQ(ask(web1, "10.9.2.5", 8080), "web3 10.9.1.5");
    lab.a->put(overlay("10.9.1", RouterA, {}));
    lab.a->apply();
    const std::string left = shell(lab.a->path(), "ip neigh show dev hnsvx1; bridge fdb show dev hnsvx1; ip route show dev hnsvx1");
    EXPECT_EQ(left.find("dst"), std::string::npos) << left;
    EXPECT_EQ(left.find("PERMANENT"), std::string::npos) << left;
}

// NET-41
TEST_F(OverlayPackets, FitIntoTheTunnel) {
    EXPECT_NE(shell(web1, "ip -br link; cat /proc/net/route; ip link show type veth").find("mtu 1450"), std::string::npos);
    bool whole = false;
    run_in(web1, [&] { whole = std::system("ping -c5 -i0.2 -W5 -q -M do -s 1422 10.9.2.5 >/dev/null 2>&1") == 0; });
    EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace porthole::hns::emulator
