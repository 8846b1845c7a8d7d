#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "controllers/node_lifecycle/taint_eviction.h"
#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

Toleration toleration(const std::string& key, std::optional<std::int64_t> seconds) {
    return {.key = key, .operator_ = "Exists", .value = "", .effect = "NoExecute", .toleration_seconds = seconds};
}

class TaintEvictionWorld : public SimWorld {
protected:
    TaintEvictionWorld() {
        Node node;
        node.metadata.name = "n";
        api.put(node);
    }
    void add_pod(const std::string& name, std::vector<Toleration> tolerations) {
        Pod pod;
        pod.metadata.name = name;
        pod.metadata.namespace_ = "ns";
        pod.metadata.finalizers = {"test/watch"};  // so that what was written last can be seen
        pod.spec.node_name = "n";
        pod.spec.tolerations = std::move(tolerations);
        pod.status.phase = "Running";
        api.put(pod);
    }
    void taint(Taints taints) {
        api.change<Node>({"", "n"}, [&](Node& node) { node.spec.taints = taints; });
    }
    bool is_deleted(const std::string& name) { return objects::is_terminating(*api.find<Pod>({"ns", name})); }
    const Taints no_execute = {{.key = "x", .value = "", .effect = "NoExecute", .time_added = {}}};
};

// API-18
TEST_F(TaintEvictionWorld, PodsLeaveWhenTheirToleranceEnds) {
    run<TaintEvictionController>();
    add_pod("none", {});
    add_pod("minute", {toleration("x", 60)});
    add_pod("zero", {toleration("x", 0)});
    add_pod("ever", {toleration("x", {})});
    pass(1s);
    taint({{.key = "x", .value = "", .effect = "NoSchedule", .time_added = {}}});
    pass(2min);
    EXPECT_FALSE(is_deleted("none"));
    taint(no_execute);
    pass(1s);
    EXPECT_TRUE(is_deleted("none"));
    EXPECT_TRUE(is_deleted("zero"));
    pass(58s);
    EXPECT_FALSE(is_deleted("minute"));
    pass(2s);
    EXPECT_TRUE(is_deleted("minute"));
    pass(24h);
    EXPECT_FALSE(is_deleted("ever"));

    const auto gone = *api.find<Pod>({"ns", "none"});
    const auto* condition = objects::find_condition(gone.status.conditions, "DisruptionTarget");
    ASSERT_TRUE(condition);
    EXPECT_EQ(condition->status, "True");
    EXPECT_EQ(condition->reason, "DeletionByTaintManager");
    EXPECT_TRUE(has_event("TaintManagerEviction: Marking for deletion Pod ns/none"));
}

TEST_F(TaintEvictionWorld, PodsStayWhenTheTaintGoesInTime) {
    run<TaintEvictionController>();
    add_pod("a", {toleration("x", 60)});
    taint(no_execute);
    pass(50s);
    taint({});
    pass(1s);
    EXPECT_TRUE(has_event("TaintManagerEviction: Cancelling deletion of Pod ns/a"));
    pass(5min);
    EXPECT_FALSE(is_deleted("a"));
    // Its time begins anew with the next taint.
    taint(no_execute);
    pass(59s);
    EXPECT_FALSE(is_deleted("a"));
    pass(2s);
    EXPECT_TRUE(is_deleted("a"));
}

TEST_F(TaintEvictionWorld, PodsThatComeToATaintedNodeLeaveToo) {
    taint(no_execute);
    run<TaintEvictionController>();
    add_pod("a", {});
    pass(1s);
    EXPECT_TRUE(is_deleted("a"));
}

TEST_F(TaintEvictionWorld, AFailingServerDelaysButDoesNotPreventAnEviction) {
    run<TaintEvictionController>();
    add_pod("a", {});
    int failures = 3;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.path.find("/pods/") == std::string::npos || failures-- <= 0) return std::nullopt;
        return Error(Reason::InternalError, "out of order");
    });
    taint(no_execute);
    pass(10s);
    EXPECT_TRUE(is_deleted("a"));
}

TEST(ToleratedFor, ShortestTimeOfAllTaintsCounts) {
    const Taints both = {{.key = "x", .value = "", .effect = "NoExecute", .time_added = {}},
                         {.key = "y", .value = "", .effect = "NoExecute", .time_added = {}}};
    EXPECT_EQ(tolerated_for(both, {toleration("x", 60), toleration("y", 30)}), 30s);
    EXPECT_EQ(tolerated_for(both, {toleration("x", 60), toleration("y", {})}), 60s);
    EXPECT_EQ(tolerated_for(both, {toleration("x", {})}), 0s);
    EXPECT_EQ(tolerated_for(both, {toleration("", {})}), std::nullopt);
    EXPECT_EQ(tolerated_for(both, {toleration("x", -5), toleration("y", {})}), 0s);
}

}  // namespace
}  // namespace porthole::controllers
