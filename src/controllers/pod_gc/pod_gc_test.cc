#include "controllers/pod_gc/pod_gc.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

class PodGcWorld : public SimWorld {
protected:
    void add_node(const std::string& name) {
        Node node;
        node.metadata.name = name;
        api.put(node);
    }
    void add_pod(const std::string& name, const std::string& node, const std::string& phase) {
        Pod pod;
        pod.metadata.name = name;
        pod.metadata.namespace_ = "ns";
        pod.metadata.creation_timestamp = Timestamp(loop.wall_now());
        pod.spec.node_name = node;
        pod.status.phase = phase;
        api.put(pod);
    }
    bool has(const std::string& name) { return api.find<Pod>({"ns", name}).has_value(); }
};

TEST_F(PodGcWorld, KeepsPodsOfANodeUntilItHasBeenGoneForAWhile) {
    add_node("here");
    add_node("lost");
    add_pod("a", "here", "Running");
    add_pod("b", "lost", "Running");
    run<PodGcController>();
    pass(1min);
    EXPECT_TRUE(has("b"));
    api.remove<Node>({"", "lost"});
    pass(30s);
    EXPECT_TRUE(has("b"));
    pass(2min);
    EXPECT_FALSE(has("b"));
    EXPECT_TRUE(has("a"));
}

TEST_F(PodGcWorld, APodThatCannotBeRemovedKeepsNoOther) {
    add_node("here");
    settings.terminated_pods_kept = 1;
    add_pod("old", "here", "Succeeded");
    pass(1s);
    add_pod("newer", "here", "Succeeded");
    add_pod("orphan", "lost", "Running");
    add_pod("unscheduled", "", "Pending");
    api.change<Pod>({"ns", "unscheduled"}, [&](Pod& pod) {
        pod.metadata.deletion_timestamp = Timestamp(loop.wall_now());
        pod.metadata.deletion_grace_period_seconds = 30;
    });
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method == "DELETE" && request.path.ends_with("/pods/old")) return Error(Reason::Forbidden, "a webhook says no");
        return std::nullopt;
    });
    run<PodGcController>();
    pass(2min);
    EXPECT_TRUE(has("old"));
    EXPECT_FALSE(has("orphan"));
    EXPECT_FALSE(has("unscheduled"));
}

TEST_F(PodGcWorld, RemovesTheManyPodsOfALostNodeSideBySide) {
    add_node("here");
    run<PodGcController>();
    for (int i = 0; i < 200; ++i) add_pod("p" + std::to_string(i), "lost", "Running");
    pass(50s);
    EXPECT_TRUE(has("p199")) << "its node may come back";
    api.set_latency(1s);  // two requests for each: 400 s one after the other
    pass(40s);
    EXPECT_TRUE(pods().empty());
}

TEST_F(PodGcWorld, RemovesThePodsThatANodeOutOfServiceCannotEnd) {
    for (const char* name : {"lost", "ready", "silent"}) add_node(name);
    const auto change = [&](const std::string& node, const std::string& ready, bool out_of_service) {
        api.change<Node>({"", node}, [&](Node& now) {
            now.status.conditions = {{.type = "Ready", .status = ready}};
            if (out_of_service) now.spec.taints = {{.key = "node.kubernetes.io/out-of-service", .effect = "NoExecute"}};
        });
    };
    change("lost", "Unknown", true);
    change("ready", "True", true);
    change("silent", "Unknown", false);
    for (const char* name : {"lost", "ready", "silent"}) {
        add_pod(name, name, "Running");
        api.change<Pod>({"ns", name}, [&](Pod& now) {
            now.metadata.deletion_timestamp = Timestamp(loop.wall_now());
            now.metadata.deletion_grace_period_seconds = 30;
        });
    }
    add_pod("wanted", "lost", "Running");
    run<PodGcController>();
    pass(1min);
    EXPECT_FALSE(has("lost"));
    EXPECT_TRUE(has("ready")) << "its kubelet ends it";
    EXPECT_TRUE(has("silent")) << "it may still run";
    EXPECT_TRUE(has("wanted")) << "nobody has deleted it";
}

TEST_F(PodGcWorld, RemovesTheOldestTerminatedPodsBeyondTheLimit) {
    settings.terminated_pods_kept = 2;
    add_node("n");
    for (const char* name : {"first", "second", "third"}) {
        add_pod(name, "n", "Succeeded");
        pass(2s);
    }
    add_pod("running", "n", "Running");
    run<PodGcController>();
    pass(1min);
    EXPECT_FALSE(has("first"));
    EXPECT_TRUE(has("second"));
    EXPECT_TRUE(has("third"));
    EXPECT_TRUE(has("running"));
}

TEST_F(PodGcWorld, RemovesEvictedPodsBeforeOlderOnes) {
    settings.terminated_pods_kept = 1;
    add_node("n");
    add_pod("older", "n", "Succeeded");
    pass(2s);
    add_pod("evicted", "n", "Failed");
    api.change<Pod>({"ns", "evicted"}, [](Pod& now) { now.status.reason = "Evicted"; });
    run<PodGcController>();
    pass(1min);
    EXPECT_TRUE(has("older"));
    EXPECT_FALSE(has("evicted"));
}

TEST_F(PodGcWorld, SweepsDoNotReadPodsThatStay) {
    add_node("n");
    for (int i = 0; i < 30; ++i) add_pod("running-" + std::to_string(i), "n", "Running");
    for (int i = 0; i < 3; ++i) add_pod("ended-" + std::to_string(i), "n", "Succeeded");
    run<PodGcController>();
    pass(1min);
    const auto before = shared_objects.times_unpacked();
    pass(10min);
    EXPECT_EQ(shared_objects.times_unpacked(), before);
    EXPECT_EQ(pods().size(), 33u);
}

}  // namespace
}  // namespace porthole::controllers
