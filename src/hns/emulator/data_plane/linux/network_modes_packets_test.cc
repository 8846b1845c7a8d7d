// Real packets through the other kinds of networks, and through faults and repairs. Needs root; skipped without.
#include <gtest/gtest.h>

#include "hns/emulator/data_plane/linux/packet_lab.h"

namespace porthole::hns::emulator {
namespace {

class NetworkModes : public ::testing::Test {
protected:
    void SetUp() override {
        if (!lab.usable()) GTEST_SKIP() << "needs root";
    }
    void add_pod(const std::string& name, const std::string& network, const std::string& address, const std::string& gateway,
                 std::vector<hcn::Policy> policies = {}) {
        lab.a->put(endpoint(name, network, address, gateway, std::move(policies)), name);
        lab.a->apply();
        lab.servers.add(lab.a->pod(name), name, 8080);
    }
    std::string pod(const std::string& name) { return lab.a->pod(name); }
    /// What a host without anything of ours in it shows.
    std::string kernel_state() {
        return shell(lab.a->path(),
                     "ip -br link | awk '{print $1, $2}' | sed 's/@[^ ]*//' | sort; ip -4 -o addr | awk '{print $2, $4}' | sort;"
                     "ip -4 route show table all | grep -v -E '^(local|broadcast)' | sort; ip rule; nft list ruleset");
    }
    PacketLab lab;
};

// NET-10
TEST_F(NetworkModes, NatHidesPodsBehindTheHost) {
    lab.a->put(network("nat", "NAT", "172.20.0.0/24", "172.20.0.1"));
    add_pod("web1", "nat", "172.20.0.5", "172.20.0.1", {host_port(4444, 8080)});
    add_pod("web2", "nat", "172.20.0.6", "172.20.0.1");
    EXPECT_EQ(ask(pod("web1"), "198.51.100.7", 8080), "far 192.168.50.11");
    EXPECT_EQ(ask(pod("web1"), "172.20.0.6", 8080), "web2 172.20.0.5");
    EXPECT_EQ(ask(lab.a->path(), "172.20.0.5", 8080), "web1 172.20.0.1");
    EXPECT_TRUE(ping(pod("web1"), "172.20.0.1"));
}

TEST_F(NetworkModes, InternalReachesTheHostAndPrivateNobody) {
    lab.a->put(network("internal", "Internal", "172.21.0.0/24", "172.21.0.1"));
    lab.a->put(network("private", "Private", "172.22.0.0/24", "172.22.0.1"));
    add_pod("in1", "internal", "172.21.0.5", "172.21.0.1");
    add_pod("in2", "internal", "172.21.0.6", "172.21.0.1");
    add_pod("own1", "private", "172.22.0.5", "172.22.0.1");
    add_pod("own2", "private", "172.22.0.6", "172.22.0.1");
    EXPECT_EQ(ask(pod("in1"), "172.21.0.6", 8080), "in2 172.21.0.5");
    EXPECT_EQ(ask(lab.a->path(), "172.21.0.5", 8080), "in1 172.21.0.1");
    EXPECT_EQ(ask_in_vain(pod("in1"), "198.51.100.7", 8080), "timeout");
    EXPECT_EQ(ask(pod("own1"), "172.22.0.6", 8080), "own2 172.22.0.5");
    EXPECT_EQ(ask(lab.a->path(), "172.22.0.5", 8080), "No route to host");
}

// NET-10
TEST_F(NetworkModes, TransparentShowsPodsOnTheWire) {
    lab.a->put(network("flat", "Transparent", "192.168.50.0/24", "192.168.50.1"));
    add_pod("web1", "flat", "192.168.50.105", "192.168.50.1");
    EXPECT_EQ(ask(lab.router, "192.168.50.105", 8080), "web1 192.168.50.1");
    EXPECT_EQ(ask(pod("web1"), "198.51.100.7", 8080), "far 192.168.50.105");
    EXPECT_EQ(ask(lab.a->path(), "192.168.50.105", 8080), "web1 192.168.50.11");
    EXPECT_NE(shell(lab.router, "ip neigh show 192.168.50.105").find("0e:2a:c0:a8:32:69"), std::string::npos) << "the pod's own MAC";
}

// NET-18, NET-34: pods in the host's own subnet, as wincni configures them
TEST_F(NetworkModes, L2BridgeInTheHostsSubnetAnswersForItsPods) {
    lab.a->put(network("l2bridge", "L2Bridge", "192.168.50.0/24", "192.168.50.1"));
    add_pod("web1", "l2bridge", "192.168.50.105", "192.168.50.1");
    add_pod("web2", "l2bridge", "192.168.50.106", "192.168.50.1");
    EXPECT_EQ(ask(lab.router, "192.168.50.105", 8080), "web1 192.168.50.1");
    EXPECT_EQ(ask(lab.b->path(), "192.168.50.105", 8080), "web1 192.168.50.12");
    EXPECT_EQ(ask(pod("web1"), "192.168.50.106", 8080), "web2 192.168.50.105");
    EXPECT_EQ(ask(pod("web1"), "192.168.50.1", 8080), "router 192.168.50.105");
    EXPECT_EQ(shell(lab.router, "ip neigh show 192.168.50.105").find("0e:2a:"), std::string::npos);
}

// NET-10
TEST_F(NetworkModes, L2TunnelSendsEvenNeighborsThroughTheWire) {
    lab.a->put(network("tunnel", "L2Tunnel", "10.20.0.0/24", "192.168.50.1"));
    add_pod("web1", "tunnel", "10.20.0.5", "192.168.50.1");
    add_pod("web2", "tunnel", "10.20.0.6", "192.168.50.1");
    shell(lab.router,
          "ip route add 10.20.0.0/24 via 192.168.50.11; nft 'table ip watch { counter c {}; chain x { type filter hook forward priority 0;"
          " ip saddr 10.20.0.5 ip daddr 10.20.0.6 counter name c; }; }'");
    EXPECT_EQ(ask(pod("web1"), "10.20.0.6", 8080), "web2 10.20.0.5");
    EXPECT_EQ(shell(lab.router, "nft list counter ip watch c").find("packets 0 "), std::string::npos);
}

TEST_F(NetworkModes, ShapeWhatPodsSend) {
    lab.a->put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    hcn::QosSettings limit;
    limit.maximum_outgoing_bandwidth_in_bytes = 1'250'000;
    add_pod("web1", "cbr0", "10.244.1.5", "10.244.1.2", {make_policy("QOS", limit)});
    EXPECT_NE(shell(pod("web1"), "tc qdisc show").find("rate 10Mbit"), std::string::npos);
    lab.a->put(endpoint("web1", "cbr0", "10.244.1.5", "10.244.1.2"), "web1");
    lab.a->apply();
    EXPECT_EQ(shell(pod("web1"), "tc qdisc show").find("tbf"), std::string::npos);
}

// EMU-02: removal leaves nothing
TEST_F(NetworkModes, LeaveNothingBehind) {
    const std::string before = kernel_state();
    for (int round = 0; round < 3; ++round) {
        lab.a->put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
        lab.a->put(endpoint("cbr0_ep", "cbr0", "10.244.1.2", ""), "host");
        lab.a->put(network("tunnel", "L2Tunnel", "10.20.0.0/24", "192.168.50.1"));
        lab.a->put(network("nat", "NAT", "172.20.0.0/24", "172.20.0.1"));
        lab.a->put(endpoint("web1", "cbr0", "10.244.1.5", "10.244.1.2", {outbound_nat({"10.244.0.0/16"}), encap_route("10.96.0.0/12")}),
                   "web1");
        lab.a->put(endpoint("web2", "tunnel", "10.20.0.5", "192.168.50.1"), "web2");
        lab.a->put(load_balancer("lb", {"web1"}, "10.96.0.10", 80));
        lab.a->put(load_balancer("kept", {"web1"}, "203.0.113.9", 80, 1, PortMappingFlags::PreserveDip));
        lab.a->apply();
        lab.a->remove_everything();
        lab.a->apply();
        EXPECT_EQ(kernel_state(), before);
    }
    EXPECT_EQ(shell(lab.a->path(), "ls " + lab.folder.string() + "/a-pods"), "");
}

TEST_F(NetworkModes, ChangeWhollyOrNotAtAll) {
    lab.a->put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    add_pod("web1", "cbr0", "10.244.1.5", "10.244.1.2", {encap_route("10.96.0.0/12")});
    add_pod("web2", "cbr0", "10.244.1.6", "10.244.1.2");
    lab.a->put(load_balancer("lb", {"web2"}, "10.96.0.10", 80));
    lab.a->apply();
    const std::string before = kernel_state();
    // Somebody else's link has the name that the new endpoint's needs inside.
    shell(pod("web1"), "ip link add eth5 type bridge");
    lab.a->put(endpoint("second", "cbr0", "10.244.1.7", "10.244.1.2", {encap_route("10.97.0.0/16"), host_port(5555, 80)}), "web1");
    lab.a->put(load_balancer("lb", {"web1", "web2"}, "10.96.0.10", 80));
    lab.a->put(load_balancer("other", {"web1"}, "10.96.0.11", 80));
    lab.a->remove_endpoint("web2");
    const auto refused = lab.a->try_apply();
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("File exists"), std::string::npos) << refused.error().message;
    EXPECT_EQ(kernel_state(), before);
    EXPECT_EQ(ask(pod("web1"), "10.96.0.10", 80), "web2 10.244.1.5");
    shell(pod("web1"), "ip link del eth5");
    lab.a->put(endpoint("second", "cbr0", "10.244.1.7", "10.244.1.2"), "web1");
    EXPECT_TRUE(lab.a->try_apply().has_value());
}

TEST_F(NetworkModes, ComeBackAfterLostRulesAndBrokenLinks) {
    lab.a->put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    lab.a->put(endpoint("cbr0_ep", "cbr0", "10.244.1.2", ""), "host");
    add_pod("web1", "cbr0", "10.244.1.5", "10.244.1.2", {encap_route("10.96.0.0/12"), outbound_nat({"10.244.0.0/16"})});
    add_pod("web2", "cbr0", "10.244.1.6", "10.244.1.2");
    lab.a->put(load_balancer("lb", {"web2"}, "10.96.0.10", 80));
    lab.a->apply();
    const std::string before = kernel_state();
    lab.a->lose_rules();
    EXPECT_EQ(ask(pod("web1"), "10.96.0.10", 80), "No route to host");
    lab.a->restore();
    EXPECT_EQ(kernel_state(), before);
    EXPECT_EQ(ask(pod("web1"), "10.96.0.10", 80), "web2 10.244.1.5");

    shell(
        lab.a->path(),
        "ip route del 10.244.1.6/32; ip link del hnssw1; ip route add 10.99.0.0/16 dev vEthernet proto 81; ip link add hnsep99 type bridge;"
        "nft delete chain ip porthole-hns forward; ip addr flush dev hnsho2");
    lab.a->restore();
    EXPECT_EQ(kernel_state(), before);

    shell(lab.a->path(), "ip link del hnsep4");
    lab.a->start_anew();
    lab.a->restore();
    EXPECT_EQ(kernel_state(), before) << "by a process that knows nothing";
    EXPECT_EQ(ask(pod("web1"), "10.96.0.10", 80), "web2 10.244.1.5") << "its server lived on in its namespace";

    lab.a->lose_rules();
    add_pod("web3", "cbr0", "10.244.1.7", "10.244.1.2");
    EXPECT_EQ(ask(pod("web1"), "10.96.0.10", 80), "web2 10.244.1.5") << "a change finds the rules gone, and writes all";
}

}  // namespace
}  // namespace porthole::hns::emulator
