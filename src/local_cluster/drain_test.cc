#include "local_cluster/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;

struct Drain : testing::Test {
    Drain() {
        api.set_fault([this](const client::ApiRequest&) {
            end_pods();
            return std::optional<Error>();
        });
        for (const char* name : {"linux-1", "linux-2"})
            put<Node>(std::string(R"({"metadata": {"name": ")") + name + R"(", "labels": {"kubernetes.io/hostname": ")" + name + R"("}}})");
    }
    template <class T>
    void put(const std::string& json) {
        api.put(schema::decode_json<T>(json).value());
    }
    void put_pod(const std::string& name, const std::string& node, const std::string& owner, const std::string& more = "") {
        const std::string owners = owner.empty() ? ""
                                                 : R"(, "ownerReferences": [{"apiVersion": "apps/v1", "kind": ")" + owner +
                                                       R"(", "name": "o", "uid": "o", "controller": true}])";
        put<Pod>(R"({"metadata": {"namespace": "default", "name": ")" + name + R"(", "uid": ")" + name + "\"" + owners + more +
                 R"(}, "spec": {"nodeName": ")" + node + R"(", "containers": [{"name": "c", "image": "i"}]}})");
    }
    void put_volume(const std::string& name, const std::string& nodes, bool bound = true) {
        put<PersistentVolume>(R"({"metadata": {"name": ")" + name + R"("}, "spec": {)" +
                              (bound ? R"("claimRef": {"namespace": "default", "name": "data"}, )" : "") +
                              R"("nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname",
                              "operator": "In", "values": [)" +
                              nodes + "]}]}]}}}}");
    }
    std::string drained(std::set<std::string> nodes = {"linux-2"}) {
        const auto result = sim::run(loop, drain(loop, client, std::move(nodes), 1min));
        return result ? "" : result.error().message;
    }
    /// What the kubelet does with pods that are to end, looked at before each request.
    void end_pods() {
        for (const Pod& pod : api.list<Pod>())
            if (pod.metadata.deletion_timestamp && pod.metadata.finalizers.empty()) api.erase<Pod>(client::key_of(pod));
    }
    bool has(const std::string& pod) { return api.find<Pod>({"default", pod}).has_value(); }
    bool takes_pods() { return !api.find<Node>({"", "linux-2"})->spec.unschedulable; }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
};

TEST_F(Drain, EvictsWhatOthersMakeAgainAndLeavesTheRest) {
    put_pod("web", "linux-2", "ReplicaSet");
    put_pod("agent", "linux-2", "DaemonSet");
    put_pod("static", "linux-2", "Node", R"(, "annotations": {"kubernetes.io/config.mirror": "x"})");
    put_pod("elsewhere", "linux-1", "");
    EXPECT_EQ(drained(), "");
    EXPECT_FALSE(has("web"));
    EXPECT_TRUE(has("agent") && has("static") && has("elsewhere"));
    EXPECT_FALSE(takes_pods());
}

TEST_F(Drain, RefusesToLosePodsAndTheNodeTakesPodsAgain) {
    put_pod("web", "linux-2", "ReplicaSet");
    put_pod("alone", "linux-2", "");
    EXPECT_EQ(
        drained(),
        "no controller would make pod default/alone again, which runs on linux-2; delete it first: kubectl delete pod -n default alone");
    EXPECT_TRUE(has("web") && takes_pods());
}

TEST_F(Drain, RefusesToLoseData) {
    put_volume("free", R"("linux-2")", false);
    put_volume("both", R"("linux-1", "linux-2")");
    EXPECT_EQ(drained(), "");
    put_volume("one", R"("linux-2")");
    EXPECT_EQ(drained(),
              "the data of claim default/data are on linux-2 alone and would be lost; delete the claim first: kubectl delete pvc -n "
              "default data");
}

TEST_F(Drain, LooksAtAllNodesThatGoAtOnce) {
    put<Node>(R"({"metadata": {"name": "linux-3", "labels": {"kubernetes.io/hostname": "linux-3"}}, "spec": {"unschedulable": true}})");
    put_pod("web", "linux-2", "ReplicaSet");
    put_pod("alone", "linux-3", "");
    EXPECT_EQ(
        drained({"linux-2", "linux-3", "linux-4"}),
        "no controller would make pod default/alone again, which runs on linux-3; delete it first: kubectl delete pod -n default alone");
    EXPECT_TRUE(has("web") && takes_pods()) << "nothing was evicted";
    EXPECT_TRUE(api.find<Node>({"", "linux-3"})->spec.unschedulable) << "as it was";
    api.erase<Pod>({"default", "alone"});
    put_volume("both", R"("linux-2", "linux-3")");
    EXPECT_EQ(drained(), "");
    api.change<Node>({"", "linux-2"}, [](Node& node) { node.spec.unschedulable = false; });
    EXPECT_THAT(drained({"linux-2", "linux-3"}), testing::HasSubstr("the data of claim default/data are on linux-2 alone"));
    api.change<PersistentVolume>({"", "both"}, [](PersistentVolume& volume) { volume.status.phase = "Released"; });
    EXPECT_THAT(drained({"linux-2", "linux-3"}), testing::HasSubstr("kubectl delete pv both"));
}

TEST_F(Drain, WaitsForABudgetAndSaysWhatStoodInTheWay) {
    put_pod("web", "linux-2", "ReplicaSet");
    int refusals = 3;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        end_pods();
        if (!request.path.ends_with("/eviction") || refusals-- <= 0) return std::nullopt;
        return Error(Reason::TooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.");
    });
    EXPECT_EQ(drained(), "");
    EXPECT_FALSE(has("web"));
    put_pod("web", "linux-2", "ReplicaSet");
    api.change<Node>({"", "linux-2"}, [](Node& node) { node.spec.unschedulable = false; });
    refusals = 1000;
    EXPECT_EQ(drained(), "pod default/web could not be evicted: Cannot evict pod as it would violate the pod's disruption budget.");
    EXPECT_TRUE(has("web") && takes_pods());
}

TEST_F(Drain, NamesAPodThatDoesNotEnd) {
    put_pod("web", "linux-2", "ReplicaSet", R"(, "finalizers": ["example.com/hold"])");
    EXPECT_EQ(drained(), "pod default/web could not be evicted: it has not ended");
}

}  // namespace
}  // namespace porthole::local_cluster
