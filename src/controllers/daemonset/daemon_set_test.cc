#include "controllers/daemonset/daemon_set.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::ControllerRevision;
using api::apps::v1::DaemonSet;
using api::core::v1::Node;
using api::core::v1::Pod;

const client::NamespacedName Key{"ns", "agent"};

struct DaemonSetTest : SimWorld {
    DaemonSetTest() {
        for (const char* name : {"n1", "n2", "n3"}) add_node(name);
    }
    void add_node(const std::string& name) {
        Node node;
        node.metadata.name = name;
        node.metadata.labels = {{"disk", name == "n3" ? "slow" : "fast"}};
        api.put(node);
    }
    void taint(const std::string& name, const std::string& effect) {
        api.change<Node>({"", name}, [&](Node& node) {
            auto& taint = node.spec.taints.emplace_back();
            taint.key = "example.com/mine";
            taint.effect = effect;
        });
        pass(2s);
    }
    DaemonSet make() {
        DaemonSet set;
        set.metadata.namespace_ = "ns";
        set.metadata.name = "agent";
        set.spec.selector.emplace().match_labels = {{"app", "agent"}};
        set.spec.template_ = pod_template("agent", "agent:1");
        set.spec.update_strategy.type = "RollingUpdate";
        set.spec.update_strategy.rolling_update.emplace().max_unavailable = 1;
        return set;
    }
    void begin(const DaemonSet& set) {
        api.put(set);
        run<DaemonSetController>();
        settle();
    }
    /// The scheduler and the kubelets at work.
    void step() {
        for (const Pod& pod : pods())
            if (pod.spec.node_name.empty() && !objects::is_terminating(pod))
                api.change<Pod>(client::key_of(pod), [](Pod& pod) { pod.spec.node_name = daemon::node_of(pod.spec); });
        kubelet();
    }
    void settle() {
        for (int i = 0; i < 20; ++i) step();
    }
    void set_image(const std::string& image) {
        api.change<DaemonSet>(Key, [&](DaemonSet& set) { set.spec.template_.spec.containers[0].image = image; });
        pass(1s);
    }
    /// "n1=agent:1 n2=…" of the pods that are to stay.
    std::string placed() {
        std::vector<std::string> texts;
        for (const Pod& pod : pods())
            if (objects::is_active(pod)) texts.push_back(daemon::node_of(pod.spec) + "=" + pod.spec.containers[0].image);
        std::ranges::sort(texts);
        std::string all;
        for (const std::string& text : texts) all += (all.empty() ? "" : " ") + text;
        return all;
    }
    auto status() { return api.find<DaemonSet>(Key)->status; }
};

TEST_F(DaemonSetTest, PutsOnePodOnEveryNode) {
    begin(make());
    EXPECT_EQ(placed(), "n1=agent:1 n2=agent:1 n3=agent:1");
    const Pod pod = pods()[0];
    EXPECT_TRUE(pod.metadata.name.starts_with("agent-"));
    EXPECT_EQ(pod.metadata.owner_references[0].kind, "DaemonSet");
    EXPECT_EQ(pod.spec.tolerations.size(), 6u);
    const auto revisions = api.list<ControllerRevision>("ns");
    ASSERT_EQ(revisions.size(), 1u);
    EXPECT_EQ(revisions[0].revision, 1);
    EXPECT_EQ(revisions[0].metadata.name, "agent-" + pod.metadata.labels.at("controller-revision-hash"));
    EXPECT_EQ(revisions[0].data.string_at({"spec", "template", "$patch"}), "replace");
    EXPECT_TRUE(schema::to_json(revisions[0].data).starts_with(R"({"spec":{"template":{"$patch":"replace","metadata":{)")) << "as Go sorts";
    EXPECT_EQ(status().desired_number_scheduled, 3);
    EXPECT_EQ(status().number_available, 3);
    EXPECT_EQ(status().updated_number_scheduled, 3);
    EXPECT_EQ(status().number_unavailable, 0);
    EXPECT_EQ(status().observed_generation, 1);
    add_node("n4");
    settle();
    EXPECT_EQ(status().number_available, 4);
}

TEST_F(DaemonSetTest, ChoosesNodesBySelectorAndTaints) {
    DaemonSet set = make();
    set.spec.template_.spec.node_selector = {{"disk", "fast"}};
    taint("n2", "NoSchedule");
    begin(set);
    EXPECT_EQ(placed(), "n1=agent:1");
    taint("n1", "NoSchedule");
    EXPECT_EQ(placed(), "n1=agent:1") << "one that is there may stay";
    taint("n1", "NoExecute");
    EXPECT_EQ(placed(), "");
}

TEST_F(DaemonSetTest, EnduresNodesInTrouble) {
    api.change<Node>({"", "n1"}, [](Node& node) {
        node.spec.unschedulable = true;
        auto& taint = node.spec.taints.emplace_back();
        taint.key = "node.kubernetes.io/unschedulable";
        taint.effect = "NoSchedule";
    });
    begin(make());
    EXPECT_EQ(status().number_available, 3);
}

TEST_F(DaemonSetTest, ReplacesFailedPodsWithGrowingPatience) {
    begin(make());
    int failures = 0;
    for (int second = 0; second < 120; ++second) {
        for (const Pod& pod : pods())
            if (daemon::node_of(pod.spec) == "n1" && objects::is_active(pod)) {
                set_phase(client::key_of(pod), "Failed");
                ++failures;
            }
        step();
    }
    EXPECT_GT(failures, 4);
    EXPECT_LT(failures, 10);
}

TEST_F(DaemonSetTest, UpdatesOneNodeAfterTheOther) {
    begin(make());
    set_image("agent:2");
    int least = 3;
    for (int i = 0; i < 30; ++i) {
        const auto all = pods();
        least = std::min<int>(least, static_cast<int>(std::ranges::count_if(
                                         all, [](const Pod& pod) { return objects::is_ready(pod) && !objects::is_terminating(pod); })));
        step();
    }
    EXPECT_EQ(least, 2);
    EXPECT_EQ(placed(), "n1=agent:2 n2=agent:2 n3=agent:2");
    EXPECT_EQ(status().updated_number_scheduled, 3);
    EXPECT_EQ(api.list<ControllerRevision>("ns").size(), 2u);
    set_image("agent:1");
    settle();
    EXPECT_EQ(placed(), "n1=agent:1 n2=agent:1 n3=agent:1");
    EXPECT_EQ(api.list<ControllerRevision>("ns").size(), 2u) << "the old revision is used again";
}

TEST_F(DaemonSetTest, SurgingKeepsEveryNodeServed) {
    DaemonSet set = make();
    set.spec.update_strategy.rolling_update->max_unavailable = 0;
    set.spec.update_strategy.rolling_update->max_surge = 1;
    begin(set);
    set_image("agent:2");
    std::size_t most = 0;
    for (int i = 0; i < 30; ++i) {
        const auto all = pods();
        EXPECT_GE(std::ranges::count_if(all, [](const Pod& pod) { return objects::is_ready(pod) && !objects::is_terminating(pod); }), 3);
        most = std::max(most, all.size());
        step();
    }
    EXPECT_GT(most, 3u);
    EXPECT_EQ(placed(), "n1=agent:2 n2=agent:2 n3=agent:2");
}

TEST_F(DaemonSetTest, OnDeleteWaitsForTheUser) {
    DaemonSet set = make();
    set.spec.update_strategy = {};
    set.spec.update_strategy.type = "OnDelete";
    begin(set);
    set_image("agent:2");
    settle();
    EXPECT_EQ(placed(), "n1=agent:1 n2=agent:1 n3=agent:1");
    for (const Pod& pod : pods())
        if (daemon::node_of(pod.spec) == "n2") api.remove<Pod>(client::key_of(pod));
    settle();
    EXPECT_EQ(placed(), "n1=agent:1 n2=agent:2 n3=agent:1");
}

TEST_F(DaemonSetTest, RemovesADuplicate) {
    begin(make());
    Pod copy = pods()[0];
    copy.metadata = {};
    copy.metadata.namespace_ = "ns";
    copy.metadata.name = "copy";
    copy.metadata.labels = pods()[0].metadata.labels;
    api.put(copy);
    settle();
    EXPECT_EQ(pods().size(), 3u);
    EXPECT_FALSE(api.find<Pod>({"ns", "copy"}));
}

}  // namespace
}  // namespace porthole::controllers
