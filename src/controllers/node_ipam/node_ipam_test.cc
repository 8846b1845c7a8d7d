#include "controllers/node_ipam/node_ipam.h"

#include <set>

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

CidrPool pool(const char* range, int length) { return CidrPool::create(IpPrefix::parse(range).value(), length).value(); }

TEST(CidrPool, HandsOutPartsInOrderUntilNoneIsLeft) {
    CidrPool parts = pool("10.244.0.0/22", 24);
    parts.occupy(IpPrefix::parse("10.244.1.128/25").value());
    EXPECT_EQ(parts.take()->to_string(), "10.244.0.0/24");
    EXPECT_EQ(parts.take()->to_string(), "10.244.2.0/24");
    EXPECT_EQ(parts.take()->to_string(), "10.244.3.0/24");
    EXPECT_FALSE(parts.take());
    parts.release(IpPrefix::parse("10.244.2.0/24").value());
    EXPECT_EQ(parts.take()->to_string(), "10.244.2.0/24");
}

TEST(CidrPool, CutsIpv6) {
    CidrPool parts = pool("fd00::/56", 64);
    EXPECT_EQ(parts.take()->to_string(), "fd00::/64");
    EXPECT_EQ(parts.take()->to_string(), "fd00:0:0:1::/64");
}

TEST(CidrPool, TakesAllPartsThatAPrefixOverlapsAndNoOthers) {
    struct {
        const char *name, *range;
        int length;
        const char* prefix;
        std::size_t left;
        const char* next;
    } const rows[] = {
        {"a part", "10.244.0.0/16", 24, "10.244.0.0/24", 255, "10.244.1.0/24"},
        {"within a part", "10.244.0.0/16", 24, "10.244.0.128/32", 255, "10.244.1.0/24"},
        {"two parts", "10.244.0.0/16", 24, "10.244.0.0/23", 254, "10.244.2.0/24"},
        {"the last part", "10.244.0.0/16", 24, "10.244.255.0/24", 255, "10.244.0.0/24"},
        {"the whole range", "10.244.0.0/16", 24, "10.244.0.0/16", 0, ""},
        {"more than the range", "10.244.0.0/16", 24, "10.0.0.0/8", 0, ""},
        {"beside the range", "10.244.0.0/16", 24, "10.245.0.0/24", 256, "10.244.0.0/24"},
        {"lengths within bytes", "100.64.0.0/10", 23, "100.64.2.0/23", 8191, "100.64.0.0/23"},
        {"IPv6", "fd00::/56", 64, "fd00:0:0:0::/63", 254, "fd00:0:0:2::/64"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        CidrPool parts = pool(row.range, row.length);
        const std::size_t all = parts.free();
        parts.occupy(IpPrefix::parse(row.prefix).value());
        EXPECT_EQ(parts.free(), row.left);
        const auto next = parts.take();
        EXPECT_EQ(next ? next->to_string() : "", row.next);
        if (next) parts.release(*next);
        parts.release(IpPrefix::parse(row.prefix).value());
        EXPECT_EQ(parts.free(), all);
        EXPECT_EQ(parts.take()->base(), IpPrefix::parse(row.range)->base()) << "what came back is the first again";
    }
}

TEST(CidrPool, APartIsFreeWhenAllWhoHaveItLetGo) {
    CidrPool parts = pool("10.244.0.0/22", 24);
    const IpPrefix given = parts.take().value(), all = IpPrefix::parse("0.0.0.0/0").value();
    parts.occupy(all);
    parts.occupy(given);
    EXPECT_EQ(parts.free(), 0u);
    parts.release(all);
    EXPECT_EQ(parts.free(), 3u);
    parts.release(given);
    EXPECT_EQ(parts.free(), 3u);
    parts.release(given);
    EXPECT_EQ(parts.free(), 4u);
}

TEST(CidrPool, RefusesRangesThatCannotBeCut) {
    EXPECT_FALSE(CidrPool::create(IpPrefix::parse("10.0.0.0/25").value(), 24));
    EXPECT_FALSE(CidrPool::create(IpPrefix::parse("10.0.0.0/4").value(), 24));
}

class NodeIpamWorld : public SimWorld {
protected:
    NodeIpamWorld() {
        settings.cluster_cidrs = {"10.244.0.0/22"};
        settings.service_cidrs = {"10.96.0.0/12"};
    }
    void begin() { start(NodeIpamController::create(context(NodeIpamController::Account)).value()); }
    void add_node(const std::string& name, const std::string& cidr = "") {
        Node node;
        node.metadata.name = name;
        if (!cidr.empty()) node.spec.pod_cidr = cidr, node.spec.pod_cidrs = {cidr};
        api.put(node);
    }
    std::string cidr_of(const std::string& name) { return api.find<Node>({"", name})->spec.pod_cidr; }
};

TEST_F(NodeIpamWorld, EveryNodeGetsARangeOfItsOwn) {
    add_node("old", "10.244.0.0/24");
    begin();
    for (const char* name : {"a", "b", "c"}) add_node(name);
    pass(1s);
    const std::set<std::string> ranges = {cidr_of("old"), cidr_of("a"), cidr_of("b"), cidr_of("c")};
    EXPECT_EQ(ranges.size(), 4u);
    EXPECT_FALSE(ranges.contains(""));
}

// API-19
TEST_F(NodeIpamWorld, API19_TheSizeOfANodesRangeIsChosen) {
    settings.cluster_cidrs = {"11.0.0.0/22"};
    settings.node_mask_ipv4 = 26;
    begin();
    for (const char* name : {"a", "b"}) add_node(name);
    pass(1s);
    EXPECT_EQ((std::set<std::string>{cidr_of("a"), cidr_of("b")}), (std::set<std::string>{"11.0.0.0/26", "11.0.0.64/26"}));
}

TEST_F(NodeIpamWorld, ARangeIsFreeAgainWhenItsNodeGoes) {
    add_node("a", "10.244.0.0/24");
    add_node("b", "10.244.1.0/24");
    add_node("c", "10.244.2.0/24");
    add_node("d", "10.244.3.0/24");
    begin();
    add_node("e");
    pass(1s);
    EXPECT_EQ(cidr_of("e"), "");
    EXPECT_TRUE(has_event("CIDRNotAvailable: Node e status is now: CIDRNotAvailable"));
    api.remove<Node>({"", "b"});
    pass(1min);
    EXPECT_EQ(cidr_of("e"), "10.244.1.0/24");
}

TEST_F(NodeIpamWorld, ANodeThatClaimedTheRangesOfOthersFreesNoneOfThem) {
    add_node("a", "10.244.0.0/24");
    add_node("b", "10.244.1.0/24");
    add_node("greedy", "10.0.0.0/8");
    begin();
    pass(1s);
    api.remove<Node>({"", "greedy"});
    add_node("c");
    pass(1min);
    EXPECT_EQ(cidr_of("c"), "10.244.2.0/24");
}

TEST_F(NodeIpamWorld, TheNodesOfALargeClusterDoNotWaitForEachOther) {
    settings.cluster_cidrs = {"10.244.0.0/16"};
    begin();
    api.set_latency(100ms);
    std::set<std::string> ranges;
    for (int i = 0; i < 60; ++i) add_node("n" + std::to_string(i));
    pass(1s);
    for (int i = 0; i < 60; ++i) ranges.insert(cidr_of("n" + std::to_string(i)));
    EXPECT_EQ(ranges.size(), 60u);
    EXPECT_FALSE(ranges.contains(""));
}

TEST_F(NodeIpamWorld, ARestartKeepsWhatWasGiven) {
    begin();
    add_node("a");
    pass(1s);
    const std::string given = cidr_of("a");
    crash();
    begin();
    add_node("b");
    pass(1s);
    EXPECT_EQ(cidr_of("a"), given);
    EXPECT_NE(cidr_of("b"), given);
}

}  // namespace
}  // namespace porthole::controllers
