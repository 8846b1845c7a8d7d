#include "scheduler/cycle.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;

TEST(Cycle, CountsReasonsOverNodesInUpstreamsWords) {
    World world;
    EXPECT_EQ(world.choice(pod("a")), "no nodes available to schedule pods");
    world.cluster.set_node(node("small", 500));
    world.cluster.set_node(node("small2", 500));
    NodeSpec cordoned = node("cordoned");
    cordoned.unschedulable = true;
    world.cluster.set_node(cordoned);
    NodeSpec tainted = node("tainted");
    tainted.taints = {{"os", "windows", TaintEffect::NoSchedule}};
    world.cluster.set_node(tainted);
    EXPECT_EQ(world.choice(pod("a", 1000)),
              "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu.");
    EXPECT_EQ(world.choice(pod("b", 600, 9LL << 30)),
              "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu, 2 "
              "Insufficient memory.");
}

// SCH-15
TEST(Cycle, SCH15_ANodeGetsNoMorePodsThanItMayHave) {
    World world;
    NodeSpec two = node("two");
    two.allowed_pods = 2;
    world.cluster.set_node(two);
    for (const char* name : {"a", "b"}) {
        EXPECT_EQ(world.choice(pod(name)), "two");
        world.cluster.set_pod(placed(pod(name), "two"));
    }
    EXPECT_EQ(world.choice(pod("c")), "0/1 nodes are available: 1 Too many pods.");
    two.allowed_pods = 3;
    world.cluster.set_node(two);
    EXPECT_EQ(world.choice(pod("c")), "two");
}

TEST(Cycle, APodWithResourceClaimsWaitsAndSaysWhy) {
    World world;
    world.cluster.set_node(node("lin"));
    PodInfo claiming = pod("a");
    claiming.device_claims = {{.name = "gpu", .is_generated = true}};
    EXPECT_EQ(world.choice(claiming), "0/1 nodes are available: pod \"default/a\": ResourceClaim not created yet.");
}

TEST(Cycle, FiltersByWhatThePodAsksOfANode) {
    World world;
    NodeSpec lin = labeled(node("lin"), {{"kubernetes.io/os", "linux"}, {"gen", "3"}});
    lin.declared_features = {"A"};
    world.cluster.set_node(lin);
    NodeSpec win = labeled(node("win"), {{"kubernetes.io/os", "windows"}, {"gen", "5"}});
    win.taints = {{"os", "windows", TaintEffect::NoSchedule}};
    world.cluster.set_node(win);
    const Toleration tolerates_windows{.key = "os", .value = "windows"};

    struct {
        const char* name;
        std::function<void(PodInfo&)> ask;
        const char* expected;
    } const rows[] = {
        {"selector", [](PodInfo& p) { p.node_selector = {{"kubernetes.io/os", "linux"}}; }, "lin"},
        {"selector without toleration", [](PodInfo& p) { p.node_selector = {{"kubernetes.io/os", "windows"}}; },
         "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."},
        {"selector and toleration",
         [&](PodInfo& p) {
             p.node_selector = {{"kubernetes.io/os", "windows"}};
             p.tolerations = {tolerates_windows};
         },
         "win"},
        {"affinity Gt",
         [&](PodInfo& p) {
             p.required_node_terms = {{NodeSelectorTerm{.labels = {{"gen", Requirement::Operator::GreaterThan, {"4"}}}}}};
             p.tolerations = {tolerates_windows};
         },
         "win"},
        {"affinity by name",
         [](PodInfo& p) {
             p.required_node_terms = {{NodeSelectorTerm{.fields = {{"metadata.name", Requirement::Operator::In, {"lin"}}}}}};
         },
         "lin"},
        {"affinity by unknown name",
         [](PodInfo& p) {
             p.required_node_terms = {{NodeSelectorTerm{.fields = {{"metadata.name", Requirement::Operator::In, {"gone"}}}}}};
         },
         "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."},
        {"an empty term matches nothing", [](PodInfo& p) { p.required_node_terms = {{NodeSelectorTerm{}}}; },
         "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."},
        {"feature that no node declares", [](PodInfo& p) { p.needed_features = {"B"}; },
         "0/2 nodes are available: 1 node(s) didn't match Pod's required features, 1 node(s) had untolerated taint(s)."},
        {"declared feature", [](PodInfo& p) { p.needed_features = {"A"}; }, "lin"},
        {"extended resource", [](PodInfo& p) { p.requests.extended = {{"example.com/gpu", 1}}; },
         "0/2 nodes are available: 1 Insufficient example.com/gpu, 1 node(s) had untolerated taint(s)."},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        PodInfo info = pod("p");
        row.ask(info);
        EXPECT_EQ(world.choice(info), row.expected);
    }
}

TEST(Cycle, NeverPutsTwoPodsOnOneHostPort) {
    World world;
    world.cluster.set_node(node("only"));
    PodInfo first = pod("first");
    first.host_ports = {{"0.0.0.0", "TCP", 4444}};
    world.cluster.set_pod(placed(first, "only"));
    PodInfo second = pod("second");
    second.host_ports = {{"10.0.0.1", "TCP", 4444}};
    EXPECT_EQ(world.choice(second), "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.");
    second.host_ports = {{"10.0.0.1", "UDP", 4444}};
    EXPECT_EQ(world.choice(second), "only");
    second.host_ports = {{"0.0.0.0", "TCP", 4444}};
    world.cluster.remove_pod("uid-first");
    EXPECT_EQ(world.choice(second), "only");
}

TEST(Cycle, ManyHostPortsTakeLinearTime) {
    World world;
    world.cluster.set_node(node("only"));
    PodInfo first = pod("first"), second = pod("second");
    for (std::int32_t port = 1; port <= 60'000; ++port) {
        first.host_ports.push_back({"0.0.0.0", "TCP", port});
        second.host_ports.push_back({"0.0.0.0", "UDP", port});
    }
    world.cluster.set_pod(placed(first, "only"));
    EXPECT_EQ(world.choice(second), "only");
    second.host_ports.push_back({"10.0.0.1", "TCP", 60'000});
    EXPECT_EQ(world.choice(second), "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.");
    world.cluster.remove_pod("uid-first");
    EXPECT_EQ(world.choice(second), "only");
}

TEST(Cycle, ManyExtendedResourcesTakeLinearTime) {
    World world;
    for (int i = 0; i < 20; ++i) world.cluster.set_node(node("n" + std::to_string(i)));
    PodInfo asking = pod("asking");
    for (int i = 0; i < 30'000; ++i) asking.requests.extended.emplace_back("a.test/" + std::to_string(100'000 + i), 1);
    const std::string answer = world.choice(asking);
    EXPECT_TRUE(answer.starts_with("0/20 nodes are available: 20 Insufficient a.test/100000, 20 Insufficient a.test/100001,"))
        << answer.size();
}

TEST(Cycle, PodsThatAreGoneLeaveNoResourcesInANodesSums) {
    World world;
    world.cluster.set_node(node("only"));
    PodInfo stays = pod("stays"), goes = pod("goes");
    stays.requests.extended = {{"a.test/shared", 1}};
    goes.requests.extended = {{"a.test/own", 2}, {"a.test/shared", 3}};
    world.cluster.set_pod(placed(stays, "only"));
    world.cluster.set_pod(placed(goes, "only"));
    EXPECT_EQ(world.cluster.find_node("only")->requested().extended_amount("a.test/shared"), 4);
    world.cluster.remove_pod("uid-goes");
    EXPECT_EQ(world.cluster.find_node("only")->requested().extended, stays.requests.extended);
}

TEST(Cycle, APortThatTwoPodsHaveIsTakenUntilBothAreGone) {
    HostPorts ports({{"10.0.0.1", "TCP", 80}, {"10.0.0.1", "TCP", 80}, {"10.0.0.2", "TCP", 80}});
    ports.remove({"10.0.0.1", "TCP", 80});
    EXPECT_TRUE(ports.conflict({{"10.0.0.1", "TCP", 80}}));
    ports.remove({"10.0.0.1", "TCP", 80});
    ports.remove({"10.0.0.1", "TCP", 80});
    EXPECT_FALSE(ports.conflict({{"10.0.0.1", "TCP", 80}}));
    EXPECT_TRUE(ports.conflict({{"0.0.0.0", "TCP", 80}}));
    ports.remove({"10.0.0.2", "TCP", 80});
    EXPECT_FALSE(ports.conflict({{"0.0.0.0", "TCP", 80}}));
}

TEST(Cycle, PrefersTheEmptierAndTheNodeWithTheImage) {
    World world;
    world.cluster.set_node(node("busy"));
    world.cluster.set_node(node("idle"));
    world.cluster.set_pod(placed(pod("load", 2000, 4LL << 30), "busy"));
    EXPECT_EQ(world.choice(pod("p", 100, 1 << 20)), "idle");

    NodeSpec stocked = node("busy");
    stocked.images = {{"big:1", 1500LL << 20}};
    world.cluster.set_node(stocked);
    PodInfo wants_image = pod("q");
    wants_image.images = {"big:1"};
    world.cluster.remove_pod("uid-load");
    EXPECT_EQ(world.choice(wants_image), "busy");
}

TEST(Cycle, AvoidsPreferNoScheduleAndFollowsPreferredAffinity) {
    World world;
    NodeSpec discouraged = node("a");
    discouraged.taints = {{"k", "v", TaintEffect::PreferNoSchedule}};
    world.cluster.set_node(discouraged);
    world.cluster.set_node(labeled(node("b"), {{"disk", "ssd"}}));
    world.cluster.set_node(node("c"));
    PodInfo info = pod("p");
    info.preferred_node_terms = {{5, {.labels = {{"disk", Requirement::Operator::In, {"ssd"}}}}}};
    EXPECT_EQ(world.choice(info), "b");
}

TEST(Cycle, HonorsAffinityBetweenPods) {
    World world;
    world.cluster.set_node(labeled(node("a1"), {{"zone", "a"}}));
    world.cluster.set_node(labeled(node("b1"), {{"zone", "b"}}));
    PodInfo database = pod("db");
    database.labels = {{"app", "db"}};
    world.cluster.set_pod(placed(database, "a1"));

    PodInfo friendly = pod("web");
    friendly.affinity = {term({{"app", "db"}}, "zone")};
    EXPECT_EQ(world.choice(friendly), "a1");
    PodInfo hostile = pod("batch");
    hostile.anti_affinity = {term({{"app", "db"}}, "zone")};
    EXPECT_EQ(world.choice(hostile), "b1");
    PodInfo torn = pod("torn");
    torn.affinity = {term({{"app", "nothing"}}, "zone")};
    EXPECT_EQ(world.choice(torn), "0/2 nodes are available: 2 node(s) didn't match pod affinity rules.");
    torn.labels = {{"app", "nothing"}};
    EXPECT_NE(world.cycle.decide(torn).node, nullptr) << "the first of a group that names itself may start it";

    PodInfo lonely = pod("lonely");
    lonely.labels = {{"app", "lonely"}};
    lonely.affinity_text = "anti";
    lonely.anti_affinity = {term({{"app", "web"}}, "zone")};
    world.cluster.set_pod(placed(lonely, "b1"));
    PodInfo web = pod("web2");
    web.labels = {{"app", "web"}};
    web.anti_affinity = {term({{"app", "db"}}, "zone")};
    EXPECT_EQ(world.choice(web),
              "0/2 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 node(s) didn't satisfy existing pods "
              "anti-affinity rules.");
}

TEST(Cycle, SpreadsWithinTheMaximalSkew) {
    World world;
    for (const char* name : {"a1", "a2", "b1"}) {
        world.cluster.set_node(labeled(node(name), {{"zone", std::string(name, 1)}}));
    }
    world.cluster.set_node(node("nowhere"));
    PodInfo info = pod("p");
    info.labels = {{"app", "x"}};
    info.spread_constraints = {{.max_skew = 1, .topology_key = "zone", .selector = Selector::of({{"app", "x"}})}};
    PodInfo other = info;
    other.uid = "other";
    world.cluster.set_pod(placed(other, "a1"));
    EXPECT_EQ(world.choice(info), "b1");
    NodeSpec full = labeled(node("b1"), {{"zone", "b"}});
    full.allowed_pods = 0;
    world.cluster.set_node(full);
    EXPECT_EQ(world.choice(info),
              "0/4 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology spread constraints (missing required "
              "label), 2 node(s) didn't match pod topology spread constraints.");
    other.terminating = true;
    world.cluster.set_pod(placed(other, "a1"));
    EXPECT_EQ(world.choice(info).substr(0, 1), "a") << "a terminating pod no longer counts";
}

TEST(Cycle, AnEmptySelectorCountsNoPodsThatAreThere) {
    World world;
    for (const char* name : {"a1", "b1"}) world.cluster.set_node(labeled(node(name), {{"zone", std::string(name, 1)}}));
    for (int i = 0; i < 3; ++i) world.cluster.set_pod(placed(pod("p" + std::to_string(i)), "a1"));
    PodInfo info = pod("p");
    info.node_selector = {{"zone", "a"}};
    info.spread_constraints = {{.max_skew = 1, .topology_key = "zone", .selector = Selector(), .honor_node_affinity = false}};
    EXPECT_EQ(world.choice(info), "a1");
}

TEST(Cycle, SpreadsTheReplicasOfASetOverNodesByDefault) {
    World world;
    for (int i = 0; i < 4; ++i) world.cluster.set_node(node("n" + std::to_string(i)));
    std::map<std::string, int> per_node;
    for (int i = 0; i < 8; ++i) {
        PodInfo info = pod("p" + std::to_string(i), 10, 1 << 20);
        info.labels = {{"app", "x"}};
        info.owned_by_set = true;
        const std::string chosen = world.choice(info);
        ++per_node[chosen];
        world.cluster.assume(placed(info, chosen), chosen);
    }
    EXPECT_EQ(per_node, (std::map<std::string, int>{{"n0", 2}, {"n1", 2}, {"n2", 2}, {"n3", 2}}));
}

TEST(Cycle, LooksAtAShareOfLargeClustersInTurn) {
    EXPECT_EQ(Cycle::nodes_wanted(99), 99u);
    EXPECT_EQ(Cycle::nodes_wanted(1000), 420u);
    EXPECT_EQ(Cycle::nodes_wanted(5000), 500u);
    EXPECT_EQ(Cycle::nodes_wanted(100000), 5000u);
    World world;
    for (int i = 0; i < 1000; ++i) world.cluster.set_node(node("n" + std::to_string(i)));
    EXPECT_EQ(world.cycle.decide(pod("p")).evaluated, 420u);
}

TEST(Cluster, AssumedPodsCountUntilForgottenOrConfirmed) {
    World world;
    world.cluster.set_node(node("n", 1000));
    const PodRef first = placed(pod("first", 800), "n");
    world.cluster.assume(first, "n");
    EXPECT_EQ(world.cycle.decide(pod("second", 800)).node, nullptr);
    world.cluster.forget(first->uid);
    EXPECT_NE(world.cycle.decide(pod("second", 800)).node, nullptr);
    world.cluster.assume(first, "n");
    world.cluster.set_pod(first);
    world.cluster.forget(first->uid);
    EXPECT_EQ(world.cycle.decide(pod("second", 800)).node, nullptr) << "a confirmed pod is not forgotten";
}

TEST(Cluster, KeepsPodsOfANodeThatComesLate) {
    World world;
    world.cluster.set_pod(placed(pod("early", 800), "late"));
    EXPECT_TRUE(world.cluster.nodes().empty());
    world.cluster.set_node(node("late", 1000));
    EXPECT_EQ(world.choice(pod("p", 800)), "0/1 nodes are available: 1 Insufficient cpu.");
    world.cluster.remove_node("late");
    world.cluster.remove_pod("uid-early");
    world.cluster.set_node(node("late", 1000));
    EXPECT_EQ(world.choice(pod("p", 800)), "late");
}

TEST(Cluster, TopologyKeysThatNoNodeHasTakeNoRoom) {
    World world;
    world.cluster.set_node(labeled(node("a"), {{"zone", "1"}}));
    const Topology& none = world.cluster.topology("one");
    EXPECT_EQ(&world.cluster.topology("another"), &none);
    EXPECT_EQ(none.domain(*world.cluster.find_node("a")), Topology::None);
    EXPECT_EQ(world.cluster.topology("zone").values.size(), 1u);
    world.cluster.set_node(labeled(node("b"), {{"one", "x"}}));
    EXPECT_NE(world.cluster.topology("one").domain(*world.cluster.find_node("b")), Topology::None);
    EXPECT_EQ(world.cluster.topology("another").domain(*world.cluster.find_node("b")), Topology::None);
}

TEST(Cluster, TakesNodesOfZonesInTurn) {
    World world;
    for (const char* name : {"a1", "a2", "a3", "b1"}) {
        world.cluster.set_node(labeled(node(name), {{"topology.kubernetes.io/zone", std::string(name, 1)}}));
    }
    std::string order;
    for (const NodeInfo* one : world.cluster.nodes()) order += one->name() + " ";
    EXPECT_EQ(order, "a1 b1 a2 a3 ");
}

}  // namespace
}  // namespace porthole::scheduler
