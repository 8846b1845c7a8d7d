#include "hns/emulator/data_plane/linux/planner.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hns/emulator/data_plane/linux/packet_lab.h"

namespace porthole::hns::emulator {
namespace {

constexpr const char* Host = "192.168.50.11";

/// A model and the planner that follows it.
class PlannerTest : public ::testing::Test {
protected:
    void put(hcn::HostComputeNetwork document) {
        const std::string id = document.id;
        const Network* old = find(after.networks, id);
        after.networks.put(id, std::make_shared<Network>(Network{.document = std::move(document),
                                                                 .number = old ? old->number : ++numbers,
                                                                 .adapter = "Ethernet",
                                                                 .ready = true,
                                                                 .management_address = Host}));
        changes.networks.push_back(id);
    }
    void put(hcn::HostComputeEndpoint document, const std::string& compartment = "") {
        const std::string id = document.id;
        document.host_compute_namespace = compartment;
        const Endpoint* old = find(after.endpoints, id);
        after.endpoints.put(id,
                            std::make_shared<Endpoint>(Endpoint{.document = std::move(document), .number = old ? old->number : ++numbers}));
        changes.endpoints.push_back(id);
        if (compartment.empty() || find(after.namespaces, compartment)) return;
        hcn::HostComputeNamespace made;
        made.id = compartment;
        after.namespaces.put(compartment, std::make_shared<Namespace>(Namespace{made}));
        changes.namespaces.push_back(compartment);
    }
    void put(hcn::HostComputeLoadBalancer document) {
        const std::string id = document.id;
        after.load_balancers.put(id, std::make_shared<LoadBalancer>(LoadBalancer{.document = std::move(document), .number = ++numbers}));
        changes.load_balancers.push_back(id);
    }
    Plan plan() {
        Plan made = planner.change(before, after, changes);
        before = after;
        changes = {};
        return made;
    }

    /// The sets of a plan that changes elements without the program nft; "" where it needs nft.
    static std::string sets_of(const Plan& plan) {
        std::string sets;
        for (const Step& step : plan.steps)
            for (const net::NftChange& change : step.elements)
                sets += fmt::format("{} -{} +{}\n", change.set, change.removed.size(), change.added.size());
        return sets;
    }

    Model before, after;
    Changes changes;
    Planner planner{LinuxOptions{.namespace_folder = "/pods"}};
    std::uint32_t numbers = 0;
};

// EMU-02: a worked example
TEST_F(PlannerTest, MakesAnEndpointOfOneTransactionAndItsLinks) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    (void)plan();
    put(endpoint("web", "cbr0", "10.244.1.5", "10.244.1.2", {outbound_nat({"10.244.0.0/16", "10.244.1.0/24"}), host_port(4444, 80)}),
        "pod");
    EXPECT_EQ(plan().text(),
              "# nft\n"
              "add element ip porthole-hns exceptions { 10.244.1.5 . 10.244.0.0/16 }\n"
              "add element ip porthole-hns host-ports { tcp . 4444 : 10.244.1.5 . 80 }\n"
              "add element ip porthole-hns outbound-nat { 10.244.1.5 : 192.168.50.11 }\n"
              "add element ip porthole-hns selves { 10.244.1.5 . 10.244.1.5 }\n"
              "add element ip porthole-hns translated { 10.244.1.5 }\n"
              "# namespace\n"
              "/pods/pod\n"
              "# ip\n"
              "link add name hnsep2 mtu 1500 type veth peer name eth2 mtu 1500 address 0e:2a:0a:f4:01:05 netns /pods/pod\n"
              "link set dev hnsep2  up alias hns-web\n"
              "route replace 10.244.1.5/32 dev hnsep2 proto 81\n"
              "# ip in /pods/pod\n"
              "link set dev eth2 up\n"
              "addr replace 10.244.1.5/24 dev eth2\n"
              "route replace 0.0.0.0/0 via 10.244.1.2 dev eth2 onlink metric 0\n");
    after.endpoints.clear();
    after.namespaces.clear();
    changes = {.endpoints = {"web"}, .namespaces = {"pod"}};
    EXPECT_EQ(plan().text(),
              "# ip away\n"
              "link del dev hnsep2\n"
              "# nft\n"
              "delete element ip porthole-hns exceptions { 10.244.1.5 . 10.244.0.0/16 }\n"
              "delete element ip porthole-hns host-ports { tcp . 4444 }\n"
              "delete element ip porthole-hns outbound-nat { 10.244.1.5 }\n"
              "delete element ip porthole-hns selves { 10.244.1.5 . 10.244.1.5 }\n"
              "delete element ip porthole-hns translated { 10.244.1.5 }\n"
              "# namespace away\n"
              "/pods/pod\n");
}

// The start of a pod waits for it.
TEST_F(PlannerTest, AnEndpointNeedsNoNftAndEachNamespaceOneRunOfIp) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    (void)plan();
    put(endpoint("web", "cbr0", "10.244.1.5", "10.244.1.2", {outbound_nat({"10.244.0.0/16", "10.244.1.0/24"}), host_port(4444, 80)}),
        "pod");
    const Plan made = plan();
    EXPECT_EQ(sets_of(made), "exceptions -0 +1\nhost-ports -0 +1\noutbound-nat -0 +1\nselves -0 +1\ntranslated -0 +1\n");
    EXPECT_EQ(std::ranges::count(made.steps, "ip", &Step::program), 2);
    after.endpoints.clear();
    after.namespaces.clear();
    changes = {.endpoints = {"web"}, .namespaces = {"pod"}};
    EXPECT_EQ(sets_of(plan()), "exceptions -1 +0\nhost-ports -1 +0\noutbound-nat -1 +0\nselves -1 +0\ntranslated -1 +0\n");
}

// NET-03
TEST_F(PlannerTest, MakesARouteWithoutEndpointsTheHostsOwn) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    (void)plan();
    hcn::HostComputeRoute document;
    document.id = "to-lin1";
    document.setting.push_back({.destination_prefix = "10.244.2.0/24", .next_hop = "192.168.50.12"});
    after.routes.put("to-lin1", std::make_shared<SdnRoute>(SdnRoute{.document = document}));
    changes.routes = {"to-lin1"};
    EXPECT_EQ(plan().text(), "# ip\nroute replace 10.244.2.0/24 via 192.168.50.12 proto 81\n");
    after.routes.clear();
    changes.routes = {"to-lin1"};
    EXPECT_EQ(plan().text(), "# ip away\nroute flush exact 10.244.2.0/24 proto 81\n");
}

// SVC-10
TEST_F(PlannerTest, MovesABackendWithTwoElementsOfAMap) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    put(remote_endpoint("r1", "cbr0", "10.244.2.1"));
    put(remote_endpoint("r2", "cbr0", "10.244.2.2"));
    put(load_balancer("lb", {"r1", "r2"}, "10.96.0.10", 80));
    (void)plan();
    put(remote_endpoint("r2", "cbr0", "10.244.2.9"));
    EXPECT_EQ(plan().text(),
              "# nft\n"
              "delete element ip porthole-hns backends-tcp { 10.96.0.10 . 80 . 1 }\n"
              "delete element ip porthole-hns backends-udp { 10.96.0.10 . 80 . 1 }\n"
              "add element ip porthole-hns backends-tcp { 10.96.0.10 . 80 . 1 : 10.244.2.9 . 8080 }\n"
              "add element ip porthole-hns backends-udp { 10.96.0.10 . 80 . 1 : 10.244.2.9 . 8080 }\n");
}

// To run nft for each load balancer of thousands takes most of the time.
TEST_F(PlannerTest, ALoadBalancerNeedsNoProgramOnceItsChainIsThere) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    put(remote_endpoint("r1", "cbr0", "10.244.2.1"));
    put(load_balancer("first", {"r1"}, "10.96.0.10", 80));
    EXPECT_EQ(sets_of(plan()), "") << "its chain is new";
    put(load_balancer("second", {"r1"}, "10.96.0.11", 80));
    const Plan made = plan();
    EXPECT_EQ(sets_of(made), "backends-tcp -0 +1\nbackends-udp -0 +1\nfrontends -0 +2\noutside-frontends -0 +2\nvips -0 +1\n");
    ASSERT_EQ(made.rollback.size(), 1u);
    EXPECT_EQ(made.rollback.front().elements.size(), 5u);
    after.load_balancers.erase("second");
    changes.load_balancers = {"second"};
    EXPECT_EQ(sets_of(plan()), "backends-tcp -1 +0\nbackends-udp -1 +0\nfrontends -2 +0\noutside-frontends -2 +0\nvips -1 +0\n");
    put(load_balancer("one more", {"r1"}, "10.96.0.12", 80, 0));
    EXPECT_NE(sets_of(plan()), "") << "sources of what is translated are elements too";
    put(load_balancer("clients", {"r1"}, "10.96.0.13", 80, LoadBalancerFlags::EnableDirectServerReturn, 0, 2));
    EXPECT_EQ(sets_of(plan()), "") << "another chain";
}

TEST_F(PlannerTest, SharesTheAddressOfAServiceBetweenItsBalancers) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    put(remote_endpoint("r1", "cbr0", "10.244.2.1"));
    put(load_balancer("http", {"r1"}, "10.96.0.10", 80));
    put(load_balancer("https", {"r1"}, "10.96.0.10", 443));
    (void)plan();
    after.load_balancers.erase("http");
    changes.load_balancers = {"http"};
    EXPECT_EQ(plan().text().find("vips"), std::string::npos) << "the other still has it";
    after.load_balancers.erase("https");
    changes.load_balancers = {"https"};
    EXPECT_NE(plan().text().find("delete element ip porthole-hns vips { 10.96.0.10 }"), std::string::npos);
}

TEST_F(PlannerTest, StartsAgainFromTheOldStateAfterAFailure) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    (void)plan();
    const std::string rules = planner.all_rules();
    put(endpoint("web", "cbr0", "10.244.1.5", "10.244.1.2"), "pod");
    const Model kept = before;
    const Changes wanted = changes;
    const std::string first = plan().text();
    planner.revert();
    EXPECT_EQ(planner.all_rules(), rules);
    EXPECT_EQ(planner.change(kept, after, wanted).text(), first);
}

TEST_F(PlannerTest, PlansEndpointsAgainWhenTheirNetworkGetsSubnets) {
    auto document = network("n", "Internal", "10.9.0.0/24", "10.9.0.1");
    const auto ipams = std::exchange(document.ipams, {});
    put(document);
    put(endpoint("web", "n", "10.9.0.5", ""), "pod");
    (void)plan();
    document.ipams = ipams;
    put(document);
    EXPECT_NE(plan().text().find("src 10.9.0.1"), std::string::npos);
    put(endpoint("web", "n", "10.9.0.5", ""));  // detached
    EXPECT_NE(plan().text(), "");
}

TEST_F(PlannerTest, CountsSetsThatContainEachOtherOnce) {
    auto document = network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1");
    std::string all = "addresses";
    for (int i = 0; i < 40; ++i) all += fmt::format(",set{}", i);
    const auto add_set = [&](const std::string& id, const char* type, const std::string& values) {
        hcn::SetPolicySettings set;
        set.id = id;
        set.policy_type = type;
        set.values = values;
        document.policies.push_back(make_policy("SetPolicy", set));
    };
    add_set("addresses", hcn::SetPolicyType::Ipset, "10.244.2.0/24");
    for (int i = 0; i < 40; ++i) add_set(fmt::format("set{}", i), hcn::SetPolicyType::Nestedipset, all);
    put(document);
    put(endpoint("web", "cbr0", "10.244.1.5", "", {acl("Allow", "In", 200, "set0", "8080")}), "pod");
    EXPECT_NE(plan().text().find("10.244.2.0/24"), std::string::npos);
}

// What documents say must never become commands.
TEST_F(PlannerTest, LeavesOutWhatIsNoAddress) {
    const std::string bad = "10.0.0.1 }; delete table ip x; #";
    put(network("cbr0", "L2Bridge", bad, bad));
    auto document = endpoint("web", "cbr0", "10.244.1.5", bad, {outbound_nat({bad}), encap_route(bad), loopback_nat(bad)});
    document.policies.push_back(acl("Allow", "In", 1, bad, bad));
    hcn::PortNameSettings name;
    name.name = "x;y";
    document.policies.push_back(make_policy("PortName", name));
    put(document, "pod");
    auto balancer = load_balancer("lb", {"web"}, bad, 80, 0);
    balancer.source_vip = bad;
    put(balancer);
    EXPECT_EQ(plan().text().find("delete table ip x"), std::string::npos);
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

TEST_F(PlannerTest, ChangesLittleAmongThousands) {
    put(network("cbr0", "L2Bridge", "10.244.1.0/24", "10.244.1.1"));
    for (int i = 0; i < 5000; ++i) put(remote_endpoint(fmt::format("r{}", i), "cbr0", fmt::format("10.250.{}.{}", i / 250, i % 250 + 1)));
    for (int i = 0; i < 2000; ++i) {
        const auto backend = [&](int n) { return fmt::format("r{}", (i * 5 + n) % 5000); };
        put(load_balancer(fmt::format("lb{}", i), {backend(0), backend(1), backend(2), backend(3), backend(4)},
                          fmt::format("10.96.{}.{}", i / 250, i % 250 + 1), 80));
    }
    const std::string whole = plan().text();
    EXPECT_LT(lines_in(whole), 300u) << "named maps, no rules of single services";
    put(load_balancer("lb7", {"r1", "r2", "r3", "r4"}, "10.96.0.8", 80));
    EXPECT_LE(lines_in(plan().text()), 20u);
    put(remote_endpoint("r7", "cbr0", "10.251.0.1"));
    EXPECT_LE(lines_in(plan().text()), 5u);
}

}  // namespace
}  // namespace porthole::hns::emulator
