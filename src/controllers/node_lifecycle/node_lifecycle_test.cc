#include "controllers/node_lifecycle/node_lifecycle.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"

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
    using Texts = std::vector<std::string>;
};

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
    api.change<Node>({"", "a"}, [](Node& node) { node.metadata.labels = {{"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}}; });
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

}  // namespace
}  // namespace porthole::controllers
