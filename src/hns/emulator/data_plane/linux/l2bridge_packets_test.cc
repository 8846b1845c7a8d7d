// Real packets between emulated hosts, in network namespaces of this process that have no way out. Needs root; skipped without.
#include <gtest/gtest.h>

#include "hns/emulator/data_plane/linux/packet_lab.h"

namespace porthole::hns::emulator {
namespace {

/// Two hosts with an L2 bridge network each, as kubelet, proxy and win-bridge make it: 10.244.1.0/24 on a, 10.244.2.0/24 on b; pods
/// web1 and web2 on a, web3 on b. The router sends pod addresses to their hosts.
class L2BridgePackets : public ::testing::Test {
protected:
    void SetUp() override {
        if (!lab.usable()) GTEST_SKIP() << "needs root";
        shell(lab.router, "ip route add 10.244.1.0/24 via 192.168.50.11; ip route add 10.244.2.0/24 via 192.168.50.12");
        set_up_host(*lab.a, "10.244.1");
        set_up_host(*lab.b, "10.244.2");
        add_pod(*lab.a, "web1", "10.244.1.5");
        add_pod(*lab.a, "web2", "10.244.1.6");
        add_pod(*lab.b, "web3", "10.244.2.5");
        web1 = lab.a->pod("web1");
        web2 = lab.a->pod("web2");
        web3 = lab.b->pod("web3");
        lab.servers.add(lab.a->path(), "host-a", 10250);
    }
    void set_up_host(LabHost& host, const std::string& prefix) {
        host.put(network("cbr0", "L2Bridge", prefix + ".0/24", prefix + ".1"));
        host.put(endpoint("cbr0_ep", "cbr0", prefix + ".2", ""), "host");
        host.apply();
    }
    std::vector<hcn::Policy> standard_policies(const LabHost& host) {
        return {outbound_nat({"10.244.0.0/16", "10.96.0.0/12", "192.168.50.0/24"}), encap_route("10.96.0.0/12"),
                encap_route(host.address + "/32")};
    }
    void add_pod(LabHost& host, const std::string& name, const std::string& address, std::vector<hcn::Policy> more = {}) {
        auto policies = standard_policies(host);
        policies.insert(policies.end(), more.begin(), more.end());
        add_bare_pod(host, name, address, std::move(policies));
    }
    void add_bare_pod(LabHost& host, const std::string& name, const std::string& address, std::vector<hcn::Policy> policies) {
        host.put(endpoint(name, "cbr0", address, address.substr(0, address.rfind('.')) + ".2", std::move(policies)), name);
        host.apply();
        lab.servers.add(host.pod(name), name, 8080);
    }
    /// On a, which knows web3 as a remote endpoint.
    void balance(const hcn::HostComputeLoadBalancer& balancer) {
        lab.a->put(remote_endpoint("remote3", "cbr0", "10.244.2.5"));
        lab.a->put(balancer);
        lab.a->apply();
    }

    static constexpr std::uint32_t Dsr = LoadBalancerFlags::EnableDirectServerReturn;
    static constexpr std::uint32_t NodePortFlags = PortMappingFlags::LocalRoutedVip | PortMappingFlags::VipExternalIp;
    PacketLab lab;
    std::string web1, web2, web3;
};

// EMU-02, NET-23, NET-24
TEST_F(L2BridgePackets, FlowBetweenPodsWithTheirOwnAddresses) {
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "10.244.1.6", 8080, transport), "web2 10.244.1.5") << "same host";
        EXPECT_EQ(ask(web1, "10.244.2.5", 8080, transport), "web3 10.244.1.5") << "other host";
        EXPECT_EQ(ask(web3, "10.244.1.5", 8080, transport), "web1 10.244.2.5") << "other host, back";
    }
    EXPECT_TRUE(ping(web1, "10.244.1.6"));
    EXPECT_TRUE(ping(web1, "10.244.2.5"));
}

// NET-29
TEST_F(L2BridgePackets, FlowBetweenNodeAndPods) {
    EXPECT_EQ(ask(lab.a->path(), "10.244.1.5", 8080).substr(0, 4), "web1");
    EXPECT_EQ(ask(lab.a->path(), "10.244.2.5", 8080), "web3 192.168.50.11") << "a pod of another host";
    EXPECT_EQ(ask(web1, "192.168.50.11", 10250), "host-a 10.244.1.5") << "own host";
    EXPECT_EQ(ask(web3, "192.168.50.11", 10250), "host-a 10.244.2.5") << "other host";
    EXPECT_EQ(ask(lab.router, "10.244.1.5", 8080), "web1 192.168.50.1") << "from outside";
    EXPECT_TRUE(ping(lab.a->path(), "10.244.1.5"));
    EXPECT_TRUE(ping(web1, "192.168.50.11"));
    EXPECT_TRUE(ping(web1, "192.168.50.12"));
}

// NET-34
TEST_F(L2BridgePackets, ShowOnlyHostMacsOutside) {
    EXPECT_EQ(ask(web1, "10.244.2.5", 8080), "web3 10.244.1.5");
    EXPECT_EQ(ask(web1, "192.168.50.1", 8080), "router 10.244.1.5");
    const std::string seen = shell(lab.router, "bridge fdb show br wire; ip neigh show dev wire");
    EXPECT_EQ(seen.find("0e:2a:"), std::string::npos) << seen;
    const std::string mac = shell(lab.a->path(), "cat /proc/net/dev >/dev/null; ip -br link show dev vEthernet");
    EXPECT_NE(shell(lab.router, "ip neigh show 192.168.50.11").find(mac.substr(mac.find(':') - 2, 17)), std::string::npos);
}

// NET-19, NET-20, NET-28
TEST_F(L2BridgePackets, LeaveWithTheHostsAddressExceptToExceptions) {
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "198.51.100.7", 8080, transport), "far 192.168.50.11");
        EXPECT_EQ(ask(web1, "192.168.50.1", 8080, transport), "router 10.244.1.5") << "an exception";
    }
}

// NET-31, LIM-15, EMU-04
TEST_F(L2BridgePackets, OfIcmpAreNotTranslated) {
    EXPECT_FALSE(ping(web1, "198.51.100.7"));
    EXPECT_TRUE(ping(web1, "192.168.50.1")) << "inside the exceptions";
    EXPECT_TRUE(ping(lab.a->path(), "198.51.100.7")) << "the host itself";
}

// SVC-05: unreachable inside the host, nothing leaves it
TEST_F(L2BridgePackets, ThatNobodyTakesAreAnsweredOnTheHost) {
    shell(lab.router,
          "nft 'table ip watch { counter c {}; chain x { type filter hook prerouting priority 0;"
          " ip daddr { 10.96.0.0/12, 10.244.1.0/24 } counter name c; }; }'");
    for (const std::string& who : {web1, lab.a->path()}) {
        EXPECT_EQ(ask(who, "10.244.1.99", 8080), "No route to host") << "no such pod";
        EXPECT_EQ(ask(who, "10.96.0.99", 80), "No route to host") << "no such service";
        EXPECT_EQ(ask(who, "192.168.50.11", 30099), "Connection refused") << "no such node port";
    }
    EXPECT_EQ(ask_in_vain(web1, "10.96.0.99", 53, Transport::Udp), "timeout") << "told by ICMP, which UDP sockets do not heed";
    EXPECT_FALSE(ping(web1, "10.96.0.99"));
    EXPECT_NE(shell(lab.router, "nft list counter ip watch c").find("packets 0 "), std::string::npos);
    EXPECT_EQ(ask(lab.router, "10.244.1.99", 8080), "No route to host");
}

// SVC-10, SVC-22, NET-26, LIM-60
TEST_F(L2BridgePackets, ReachAServiceDirectlyWithDsr) {
    balance(load_balancer("lb", {"web2"}, "10.96.0.10", 80, Dsr));
    balance(load_balancer("lb-away", {"remote3"}, "10.96.0.11", 80, Dsr));
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "10.96.0.10", 80, transport), "web2 10.244.1.5");
        EXPECT_EQ(ask(web1, "10.96.0.11", 80, transport), "web3 10.244.1.5");
    }
    EXPECT_EQ(ask(web1, "10.96.0.10", 81), "No route to host") << "another port";
    EXPECT_FALSE(ping(web1, "10.96.0.10"));
}

TEST_F(L2BridgePackets, ReachAServiceWithTheHostsAddressWithoutDsr) {
    balance(load_balancer("lb", {"web2"}, "10.96.0.10", 80, 0));
    balance(load_balancer("lb-away", {"remote3"}, "10.96.0.11", 80, 0));
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(web1, "10.96.0.10", 80, transport), "web2 192.168.50.11");
        EXPECT_EQ(ask(web1, "10.96.0.11", 80, transport), "web3 192.168.50.11");
    }
}

// NET-22
TEST_F(L2BridgePackets, ReachNoServiceWithoutARoutePolicy) {
    add_bare_pod(*lab.a, "plain", "10.244.1.7", {outbound_nat({"10.244.0.0/16"})});
    balance(load_balancer("lb", {"web2"}, "10.96.0.10", 80, Dsr));
    EXPECT_EQ(ask(lab.a->pod("plain"), "10.96.0.10", 80), "No route to host");
    EXPECT_EQ(ask(web1, "10.96.0.10", 80), "web2 10.244.1.5");
}

// SVC-20, LIM-10, EMU-04
TEST_F(L2BridgePackets, OfTheHostReachNoService) {
    balance(load_balancer("lb", {"web2"}, "10.96.0.10", 80, Dsr));
    balance(load_balancer("snat", {"web2"}, "10.96.0.11", 80, 0));
    EXPECT_EQ(ask(lab.a->path(), "10.96.0.10", 80), "No route to host");
    EXPECT_EQ(ask(lab.a->path(), "10.96.0.11", 80), "No route to host");
}

// SVC-12
TEST_F(L2BridgePackets, OfOneClientStayWithOneBackendIfAsked) {
    balance(load_balancer("spread", {"web1", "web2", "remote3"}, "10.96.0.10", 80, 0, 0, Distribution::FiveTuple));
    balance(load_balancer("sticky", {"web1", "web2", "remote3"}, "10.96.0.11", 80, 0, 0, Distribution::SourceIp));
    add_pod(*lab.a, "client", "10.244.1.8");
    std::set<std::string> spread, sticky;
    for (int i = 0; i < 40; ++i) spread.insert(ask(lab.a->pod("client"), "10.96.0.10", 80));
    for (int i = 0; i < 20; ++i) sticky.insert(ask(lab.a->pod("client"), "10.96.0.11", 80, i % 2 ? Transport::Tcp : Transport::Udp));
    EXPECT_EQ(spread.size(), 3u);
    EXPECT_EQ(sticky.size(), 1u);
}

// SVC-18, SVC-19, LIM-09, EMU-04
TEST_F(L2BridgePackets, ReachANodePortFromOutsideAndFromPodsButNotFromTheNode) {
    balance(load_balancer("lb", {"web2"}, "", 30080, 0, NodePortFlags));
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(lab.router, "192.168.50.11", 30080, transport), "web2 192.168.50.11");
        EXPECT_EQ(ask(lab.b->path(), "192.168.50.11", 30080, transport), "web2 192.168.50.11") << "another node";
        EXPECT_EQ(ask(web1, "192.168.50.11", 30080, transport), "web2 192.168.50.11") << "a pod of the node";
        EXPECT_EQ(ask(web3, "192.168.50.11", 30080, transport), "web2 192.168.50.11") << "a pod elsewhere";
        EXPECT_EQ(ask(lab.a->path(), "192.168.50.11", 30080, transport), "Connection refused") << "the node itself";
        EXPECT_EQ(ask(lab.a->path(), "127.0.0.1", 30080, transport), "Connection refused") << "the node by loopback";
    }
}

TEST_F(L2BridgePackets, ReachANodePortOnlyWhileTheNodeHasAPod) {
    lab.b->put(remote_endpoint("remote1", "cbr0", "10.244.1.5"));
    lab.b->put(load_balancer("lb", {"remote1"}, "", 30080, 0, NodePortFlags));
    lab.b->apply();
    EXPECT_EQ(ask(lab.router, "192.168.50.12", 30080), "web1 192.168.50.12");
    lab.b->remove_endpoint("web3");
    lab.b->apply();
    EXPECT_EQ(ask(lab.router, "192.168.50.12", 30080), "Connection refused");
}

// SVC-16
TEST_F(L2BridgePackets, KeepTheClientsAddressAtALocalNodePort) {
    balance(load_balancer("lb", {"web2"}, "", 30080, Dsr, NodePortFlags));
    EXPECT_EQ(ask(lab.router, "192.168.50.11", 30080), "web2 192.168.50.1");
}

// The answer of a backend elsewhere does not come back through the node that chose it.
TEST_F(L2BridgePackets, OfOutsideClientsGetNoAnswerFromADirectBackendElsewhere) {
    balance(load_balancer("lb", {"remote3"}, "", 30080, Dsr, NodePortFlags));
    EXPECT_EQ(ask_in_vain(lab.router, "192.168.50.11", 30080), "timeout");
}

// SVC-23
TEST_F(L2BridgePackets, ReachAHostPort) {
    add_pod(*lab.a, "mapped", "10.244.1.9", {host_port(4444, 8080)});
    EXPECT_EQ(ask(lab.router, "192.168.50.11", 4444), "mapped 192.168.50.1");
    EXPECT_EQ(ask(web3, "192.168.50.11", 4444), "mapped 10.244.2.5");
    EXPECT_EQ(ask(web1, "192.168.50.11", 4444), "mapped 10.244.1.5");
    EXPECT_EQ(ask(lab.a->path(), "192.168.50.11", 4444), "Connection refused") << "the node itself";
    lab.a->remove_endpoint("mapped");
    lab.a->apply();
    EXPECT_EQ(ask(lab.router, "192.168.50.11", 4444), "Connection refused");
}

// SVC-28
TEST_F(L2BridgePackets, OfAPodReachItselfByItsServiceOnlyWithLoopbackDsr) {
    add_pod(*lab.a, "looping", "10.244.1.9", {loopback_nat("10.244.1.9")});
    balance(load_balancer("lb", {"web1"}, "10.96.0.10", 80, Dsr));
    balance(load_balancer("snat", {"web1"}, "10.96.0.11", 80, 0));
    balance(load_balancer("loop", {"looping"}, "10.96.0.12", 80, Dsr));
    EXPECT_EQ(ask_in_vain(web1, "10.96.0.10", 80), "timeout");
    EXPECT_EQ(ask_in_vain(web1, "10.96.0.11", 80), "timeout");
    EXPECT_EQ(ask(lab.a->pod("looping"), "10.96.0.12", 80), "looping 192.168.50.11");
}

// SVC-15
TEST_F(L2BridgePackets, KeepTheirDestinationIfAsked) {
    shell(lab.router, "ip route add 203.0.113.9 via 192.168.50.11");
    shell(web2, "ip addr add 203.0.113.9/32 dev lo");
    lab.servers.add(web2, "vip", 80, "203.0.113.9");
    balance(load_balancer("lb", {"web2", "remote3"}, "203.0.113.9", 80, Dsr, PortMappingFlags::UseMux | PortMappingFlags::PreserveDip));
    for (const Transport transport : {Transport::Tcp, Transport::Udp}) {
        EXPECT_EQ(ask(lab.router, "203.0.113.9", 80, transport), "vip 192.168.50.1");
    }
}

// SVC-30
TEST_F(L2BridgePackets, FromOutsideReachExternalAddressesButNotInternalBalancers) {
    shell(lab.router, "ip route add 203.0.113.0/24 via 192.168.50.11");
    balance(load_balancer("external", {"web2"}, "203.0.113.9", 80, Dsr, PortMappingFlags::VipExternalIp));
    balance(load_balancer("internal", {"web2"}, "203.0.113.10", 80, Dsr, PortMappingFlags::EnableInternalLoadBalancer));
    EXPECT_EQ(ask(lab.router, "203.0.113.9", 80), "web2 192.168.50.1");
    EXPECT_EQ(ask(lab.router, "203.0.113.10", 80), "No route to host");
}

TEST_F(L2BridgePackets, FollowChangesOfBackends) {
    balance(load_balancer("lb", {"web2", "remote3"}, "10.96.0.10", 80, Dsr));
    balance(load_balancer("lb", {"remote3"}, "10.96.0.10", 80, Dsr));
    for (int i = 0; i < 8; ++i) EXPECT_EQ(ask(web1, "10.96.0.10", 80), "web3 10.244.1.5");
    lab.a->remove_endpoint("remote3");
    lab.a->apply();
    EXPECT_EQ(ask(web1, "10.96.0.10", 80), "No route to host") << "an endpoint that is gone has no effect";
    lab.a->remove_load_balancer("lb");
    lab.a->apply();
    EXPECT_EQ(ask(web1, "10.96.0.10", 80), "No route to host");
}

// NET-38
TEST_F(L2BridgePackets, ObeyAccessControl) {
    hcn::SetPolicySettings friends;
    friends.id = "friends";
    friends.policy_type = hcn::SetPolicyType::Ipset;
    friends.values = "10.244.2.0/24,10.244.1.6";
    lab.a->put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1", {make_policy("SetPolicy", friends)}));
    add_pod(*lab.a, "guarded", "10.244.1.9",
            {acl("Allow", "In", 200, "friends", "8080"), acl("Block", "In", 100, "10.244.1.6"), acl("Allow", "Out", 100, "10.244.2.5")});
    const std::string guarded = lab.a->pod("guarded");
    EXPECT_EQ(ask(web3, "10.244.1.9", 8080), "guarded 10.244.2.5") << "in the set";
    EXPECT_EQ(ask_in_vain(web2, "10.244.1.9", 8080), "timeout") << "in the set, but blocked before";
    EXPECT_EQ(ask_in_vain(web1, "10.244.1.9", 8080), "timeout") << "matched by no rule";
    EXPECT_EQ(ask_in_vain(lab.a->path(), "10.244.1.9", 8080), "timeout") << "the host";
    EXPECT_EQ(ask(guarded, "10.244.2.5", 8080), "web3 10.244.1.9");
    EXPECT_EQ(ask_in_vain(guarded, "10.244.1.5", 8080), "timeout");
    EXPECT_EQ(ask(web2, "10.244.1.5", 8080), "web1 10.244.1.6") << "others";
}

// NET-42: the address moves to the virtual adapter and back, and connections to the host work on
TEST_F(L2BridgePackets, FindTheHostWhereverItsAddressIs) {
    ASSERT_EQ(lab.a->adapters().size(), 1u);
    const Adapter adapter = lab.a->adapters()[0];
    EXPECT_EQ(adapter.name, "Ethernet");
    EXPECT_EQ(adapter.address, "192.168.50.11");
    EXPECT_EQ(adapter.prefix_length, 24);
    EXPECT_NE(shell(lab.a->path(), "ip -d link show vEthernet").find("alias vEthernet (Ethernet)"), std::string::npos);
    EXPECT_NE(shell(lab.a->path(), "ip route show default").find("dev vEthernet"), std::string::npos);
    EXPECT_EQ(ask(lab.router, "192.168.50.11", 10250), "host-a 192.168.50.1");
    lab.a->remove_everything();
    lab.a->apply();
    EXPECT_EQ(lab.a->adapters()[0].address, "192.168.50.11");
    EXPECT_EQ(lab.a->adapters()[0].mac, adapter.mac);
    EXPECT_NE(shell(lab.a->path(), "ip route show default").find("via 192.168.50.1 dev Ethernet"), std::string::npos);
    EXPECT_EQ(ask(lab.router, "192.168.50.11", 10250), "host-a 192.168.50.1");
}

TEST_F(L2BridgePackets, AreCounted) {
    const Counters before = lab.a->counters("web1");
    EXPECT_EQ(ask(web1, "10.244.1.6", 8080), "web2 10.244.1.5");
    const Counters after = lab.a->counters("web1");
    EXPECT_GT(after.packets_sent, before.packets_sent);
    EXPECT_GT(after.bytes_received, before.bytes_received);
    EXPECT_EQ(lab.a->counters("remote3").packets_sent, 0u);
}

}  // namespace
}  // namespace porthole::hns::emulator
