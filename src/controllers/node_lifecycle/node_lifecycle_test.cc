#include <algorithm>

#include "api/coordination_v1.h"
#include "controllers/framework/sim/sim_world.h"
#include "controllers/node_lifecycle/node_lifecycle.h"
#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

class NodeLifecycleWorld : public SimWorld {
protected:
    void add_node(const std::string& name, const std::string& ready) {
        Node node;
        node.metadata.name = name;
        node.metadata.creation_timestamp = Timestamp(loop.wall_now());
        node.spec.taints = {{.key = "node.kubernetes.io/not-ready", .value = "", .effect = "NoSchedule", .time_added = {}}};
        api.put(node);
        if (!ready.empty()) report(name, "Ready", ready);
    }
    /// As the node's kubelet does.
    void report(const std::string& name, const std::string& type, const std::string& status) {
        api.change<Node>({"", name}, [&](Node& node) {
            std::erase_if(node.status.conditions, [&](const NodeCondition& condition) { return condition.type == type; });
            NodeCondition& condition = node.status.conditions.emplace_back();
            condition.type = type;
            condition.status = status;
            condition.last_heartbeat_time = condition.last_transition_time = Timestamp(loop.wall_now());
        });
    }
    /// "key:effect" of each, without "node.kubernetes.io/".
    std::vector<std::string> taints(const std::string& name) {
        std::vector<std::string> texts;
        for (const Taint& taint : api.find<Node>({"", name})->spec.taints) {
            texts.push_back(taint.key.substr(taint.key.find('/') + 1) + ":" + taint.effect);
        }
        std::ranges::sort(texts);
        return texts;
    }
    void renew(const std::string& name) {
        api::coordination::v1::Lease lease;
        lease.metadata.namespace_ = "kube-node-lease";
        lease.metadata.name = name;
        lease.spec.renew_time = MicroTimestamp(loop.wall_now());
        api.put(lease);
    }
    /// Time passes while these nodes renew their leases.
    void pass_with(Duration duration, const std::vector<std::string>& alive) {
        for (; duration > Duration::zero(); duration -= 5s) {
            for (const std::string& name : alive) renew(name);
            pass(5s);
        }
    }
    void add_ready_pod(const std::string& name, const std::string& node) {
        Pod pod;
        pod.metadata.name = name;
        pod.metadata.namespace_ = "ns";
        pod.spec.node_name = node;
        pod.status.phase = "Running";
        api.put(pod);
        set_ready({"ns", name});
    }
    NodeCondition condition(const std::string& node, const std::string& type) {
        const auto object = *api.find<Node>({"", node});
        const auto* found = objects::find_condition(object.status.conditions, type);
        return found ? *found : NodeCondition();
    }
    using Texts = std::vector<std::string>;
};

// API-09
TEST_F(NodeLifecycleWorld, API09_AKubeletThatIsNewerThanTheServerIsReportedOnItsNode) {
    settings.own_version = "v1.36.0";
    run<NodeLifecycleController>();
    const auto joins = [&](const std::string& name, const std::string& version) {
        Node node;
        node.metadata.name = name;
        node.status.node_info.kubelet_version = version;
        api.put(node);
        pass(1s);
    };
    const auto told = [&](const std::string& name) {
        std::string found;
        for (const auto& event : api.list<porthole::api::core::v1::Event>())
            if (event.reason == "VersionSkewUnsupported" && event.involved_object.name == name) found += event.type + " " + event.message;
        return found;
    };
    joins("same", "v1.36.7");
    joins("older", "v1.33.0");
    joins("newer", "v1.37.0-rc.1");
    joins("old", "v1.32.9");
    joins("strange", "latest");
    EXPECT_EQ(told("same") + told("older") + told("strange"), "");
    EXPECT_EQ(
        told("newer"),
        "Warning kubelet v1.37.0-rc.1 is newer than the API server, v1.36.0, which is not supported: upgrade the control plane first");
    EXPECT_EQ(
        told("old"),
        "Warning kubelet v1.32.9 is more than 3 minor versions older than the API server, v1.36.0, which is not supported: upgrade the "
        "node");
    api.change<Node>({"", "same"}, [](Node& node) { node.status.node_info.kubelet_version = "v2.0.0"; });
    pass(1s);
    EXPECT_NE(told("same"), "") << "an upgrade in place";
}

TEST_F(NodeLifecycleWorld, ANodeThatBecomesReadyCanBeScheduledOnAtOnce) {
    run<NodeLifecycleController>();
    add_node("a", "False");
    pass(1ms);
    EXPECT_EQ(taints("a"), Texts{"not-ready:NoSchedule"});
    report("a", "Ready", "True");
    pass(1ms);
    EXPECT_EQ(taints("a"), Texts{});
    EXPECT_TRUE(has_event("RegisteredNode: Node a event: Registered Node a in Controller"));
}

TEST_F(NodeLifecycleWorld, TheNodesOfALargeClusterDoNotWaitForEachOther) {
    run<NodeLifecycleController>();
    pass(1s);
    api.set_latency(100ms);
    for (int i = 0; i < 40; ++i) add_node("n" + std::to_string(i), "True");
    pass(1s);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(taints("n" + std::to_string(i)), Texts{}) << i;
}

TEST_F(NodeLifecycleWorld, ANodeThatHasNotReportedKeepsItsTaint) {
    run<NodeLifecycleController>();
    add_node("a", "");
    pass(1s);
    EXPECT_EQ(taints("a"), Texts{"not-ready:NoSchedule"});
}

TEST_F(NodeLifecycleWorld, TaintsFollowConditionsAndCordonsAndLeaveOthersAlone) {
    run<NodeLifecycleController>();
    add_node("a", "True");
    api.change<Node>({"", "a"}, [](Node& node) {
        node.spec.unschedulable = true;
        node.spec.taints.push_back({.key = "mine", .value = "x", .effect = "NoSchedule", .time_added = {}});
    });
    report("a", "MemoryPressure", "True");
    report("a", "DiskPressure", "False");
    pass(1s);
    EXPECT_EQ(taints("a"), (Texts{"memory-pressure:NoSchedule", "mine:NoSchedule", "unschedulable:NoSchedule"}));
    report("a", "MemoryPressure", "False");
    api.change<Node>({"", "a"}, [](Node& node) { node.spec.unschedulable = false; });
    pass(1s);
    EXPECT_EQ(taints("a"), Texts{"mine:NoSchedule"});
}

TEST_F(NodeLifecycleWorld, OldLabelsFollowTheNewOnes) {
    run<NodeLifecycleController>();
    add_node("a", "True");
    api.change<Node>({"", "a"},
                     [](Node& node) { node.metadata.labels = {{"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}}; });
    pass(1s);
    auto labels = api.find<Node>({"", "a"})->metadata.labels;
    EXPECT_EQ(labels["beta.kubernetes.io/os"], "linux");
    EXPECT_EQ(labels["beta.kubernetes.io/arch"], "amd64");
}

TEST_F(NodeLifecycleWorld, TellsOfRemovedNodes) {
    run<NodeLifecycleController>();
    add_node("a", "True");
    pass(1s);
    api.erase<Node>({"", "a"});
    pass(1s);
    EXPECT_TRUE(has_event("RemovingNode: Node a event: Removing Node a from Controller"));
}

// API-18
TEST_F(NodeLifecycleWorld, ASilentNodeBecomesUnknownAndItsPodsNotReady) {
    run<NodeLifecycleController>();
    add_node("a", "True");
    add_node("b", "True");
    add_ready_pod("on-a", "a");
    add_ready_pod("on-b", "b");
    pass_with(2min, {"a", "b"});
    EXPECT_EQ(condition("a", "Ready").status, "True");
    pass_with(45s, {"b"});
    EXPECT_EQ(condition("a", "Ready").status, "True");
    pass_with(15s, {"b"});
    EXPECT_EQ(condition("a", "Ready").status, "Unknown");
    EXPECT_EQ(condition("a", "Ready").reason, "NodeStatusUnknown");
    EXPECT_EQ(condition("a", "Ready").message, "Kubelet stopped posting node status.");
    EXPECT_EQ(condition("a", "MemoryPressure").status, "Unknown");
    EXPECT_EQ(condition("b", "Ready").status, "True");
    EXPECT_FALSE(objects::is_ready(*api.find<Pod>({"ns", "on-a"})));
    EXPECT_TRUE(objects::is_ready(*api.find<Pod>({"ns", "on-b"})));
    EXPECT_TRUE(has_event("NodeNotReady: Node a status is now: NodeNotReady"));
    EXPECT_TRUE(has_event("NodeNotReady: Node is not ready"));
    EXPECT_EQ(taints("a"), (Texts{"unreachable:NoExecute", "unreachable:NoSchedule"}));

    report("a", "Ready", "True");
    pass_with(10s, {"a", "b"});
    EXPECT_EQ(taints("a"), Texts{});
}

TEST_F(NodeLifecycleWorld, PodsOfANodeThatReportsItselfNotReadyAreItsKubelets) {
    for (const char* name : {"n1", "n2"}) add_node(name, "True");
    add_ready_pod("web", "n1");
    run<NodeLifecycleController>();
    pass_with(10s, {"n1", "n2"});
    report("n1", "Ready", "False");
    pass_with(2min, {"n1", "n2"});
    EXPECT_TRUE(objects::is_ready(*api.find<Pod>({"ns", "web"})));
    pass_with(2min, {"n2"});
    EXPECT_EQ(condition("n1", "Ready").status, "Unknown");
    EXPECT_FALSE(objects::is_ready(*api.find<Pod>({"ns", "web"}))) << "nobody reports it";
}

TEST_F(NodeLifecycleWorld, TheManyPodsOfALostNodeAreMarkedSideBySide) {
    run<NodeLifecycleController>();
    add_node("a", "True");
    add_node("b", "True");
    for (int i = 0; i < 110; ++i) add_ready_pod("p" + std::to_string(i), "a");
    pass_with(1min, {"a", "b"});
    api.set_latency(500ms);  // 55 s one after the other
    pass_with(1min, {"b"});
    EXPECT_EQ(condition("a", "Ready").status, "Unknown");
    EXPECT_TRUE(std::ranges::none_of(pods(), [](const Pod& pod) { return objects::is_ready(pod); }));
}

TEST_F(NodeLifecycleWorld, ANodeThatNeverReportsBecomesUnknownAfterALongerTime) {
    run<NodeLifecycleController>();
    add_node("a", "");
    add_node("b", "True");
    pass_with(55s, {"b"});
    EXPECT_EQ(condition("a", "Ready").status, "");
    pass_with(15s, {"b"});
    EXPECT_EQ(condition("a", "Ready").status, "Unknown");
    EXPECT_EQ(condition("a", "Ready").reason, "NodeStatusNeverUpdated");
    EXPECT_EQ(condition("a", "Ready").message, "Kubelet never posted node status.");
}

TEST_F(NodeLifecycleWorld, NoExecuteTaintsAreSwappedAtOnceAndGivenSlowly) {
    run<NodeLifecycleController>();
    for (const char* name : {"a", "b", "c", "d"}) add_node(name, "True");
    pass_with(10s, {"a", "b", "c", "d"});
    report("a", "Ready", "False");
    report("b", "Ready", "False");
    const auto tainted = [&] {
        return std::ranges::count_if(api.list<Node>(), [](const Node& node) { return has_taint(node, NotReadyTaint, NoExecute); });
    };
    pass_with(5s, {"a", "b", "c", "d"});
    EXPECT_EQ(tainted(), 1);
    pass_with(10s, {"a", "b", "c", "d"});
    EXPECT_EQ(tainted(), 2);
    pass_with(1min, {"b", "c", "d"});
    EXPECT_EQ(taints("a"), (Texts{"unreachable:NoExecute", "unreachable:NoSchedule"}));
    EXPECT_EQ(taints("b"), (Texts{"not-ready:NoExecute", "not-ready:NoSchedule"}));
}

TEST_F(NodeLifecycleWorld, AZoneThatItsNodesHaveLeftIsForgotten) {
    const auto& controller = run<NodeLifecycleController>();
    add_node("a", "True");
    add_node("b", "True");
    for (const char* zone : {"1", "2", "3"}) {
        api.change<Node>({"", "a"}, [&](Node& node) { node.metadata.labels["topology.kubernetes.io/zone"] = zone; });
        pass_with(10s, {"a", "b"});
        EXPECT_EQ(controller.zones(), 2u) << "that of the label, and that of nodes without one";
    }
    // The queue of the zone in which it is now works.
    report("a", "Ready", "False");
    pass_with(10s, {"a", "b"});
    EXPECT_EQ(taints("a"), (Texts{"not-ready:NoExecute", "not-ready:NoSchedule"}));
}

TEST_F(NodeLifecycleWorld, NobodyIsEvictedWhenAllNodesAreLost) {
    run<NodeLifecycleController>();
    for (const char* name : {"a", "b"}) add_node(name, "True");
    pass_with(10s, {"a", "b"});
    pass_with(1min, {"b"});
    EXPECT_EQ(taints("a"), (Texts{"unreachable:NoExecute", "unreachable:NoSchedule"}));
    pass(2min);
    EXPECT_EQ(taints("a"), Texts{"unreachable:NoSchedule"});
    EXPECT_EQ(taints("b"), Texts{"unreachable:NoSchedule"});
    report("b", "Ready", "True");
    pass_with(10s, {"b"});
    EXPECT_EQ(taints("a"), (Texts{"unreachable:NoExecute", "unreachable:NoSchedule"}));
    EXPECT_EQ(taints("b"), Texts{});
}

TEST(ZoneState, CountsAndShareDecide) {
    EXPECT_EQ(zone_state({.ready = 0, .not_ready = 1}, 0.55), ZoneState::FullDisruption);
    EXPECT_EQ(zone_state({.ready = 1, .not_ready = 2}, 0.55), ZoneState::Normal);
    EXPECT_EQ(zone_state({.ready = 2, .not_ready = 3}, 0.55), ZoneState::PartialDisruption);
    EXPECT_EQ(zone_state({.ready = 3, .not_ready = 3}, 0.55), ZoneState::Normal);
}

TEST(EvictionQueue, TakesNodesInTheOrderOfTheirLossOnceEach) {
    MonotonicTime now{};
    EvictionQueue queue;
    queue.set_rate(1, now);
    const auto next = [&] { return queue.take(now += 1s).value_or("nothing"); };
    for (const char* name : {"a", "b", "c", "a", "d"}) queue.add(name);
    queue.remove("b");
    EXPECT_EQ(next(), "a");
    queue.add("a");
    queue.put_back("a", now);
    EXPECT_EQ(next(), "a");
    EXPECT_EQ(next(), "c");
    queue.add("b");
    EXPECT_EQ(next(), "d");
    EXPECT_EQ(next(), "b");
    EXPECT_EQ(next(), "nothing");
}

}  // namespace
}  // namespace porthole::controllers
