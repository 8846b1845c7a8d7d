#include "controllers/disruption/disruption.h"

#include "controllers/disruption/stale_disruption.h"
#include "controllers/framework/sim/sim_world.h"
#include "schema/json/json.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::StatefulSet;
using api::core::v1::Pod;
using api::policy::v1::PodDisruptionBudget;

const client::NamespacedName Key{"ns", "budget"};

struct DisruptionTest : SimWorld {
    /// `healthy` of `pods` ready pods of a set that wants `pods`.
    void pods_of_set(int pods, int healthy) {
        StatefulSet set;
        set.metadata.namespace_ = "ns";
        set.metadata.name = "web";
        set.spec.replicas = pods;
        set = api.put(set);
        for (int i = 0; i < pods; ++i) {
            Pod pod = bare_pod("web-" + std::to_string(i));
            pod.metadata.owner_references = {objects::controller_reference(set)};
            api.put(pod);
            if (i < healthy) set_ready(client::key_of(pod));
        }
    }
    Pod bare_pod(const std::string& name) {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.metadata.labels = {{"app", "web"}};
        return pod;
    }
    PodDisruptionBudget budget() {
        PodDisruptionBudget budget;
        budget.metadata.namespace_ = "ns";
        budget.metadata.name = "budget";
        budget.spec.selector.emplace().match_labels = {{"app", "web"}};
        return budget;
    }
    auto status() { return api.find<PodDisruptionBudget>(Key)->status; }
    std::string reason() { return status().conditions.at(0).status + " " + status().conditions.at(0).reason; }
};

TEST_F(DisruptionTest, AllowsWhatTheBudgetLeaves) {
    struct {
        const char* name;
        std::optional<IntOrString> minimum, maximum;
        int healthy, desired, allowed;
    } const rows[] = {
        {"minAvailable as a number", IntOrString(2), {}, 3, 2, 1},
        {"minAvailable in percent is rounded up", IntOrString("50%"), {}, 3, 2, 1},
        {"maxUnavailable as a number", {}, IntOrString(1), 3, 2, 1},
        {"maxUnavailable in percent is rounded up", {}, IntOrString("34%"), 3, 1, 2},
        {"nothing to spare", IntOrString(3), {}, 3, 3, 0},
        {"fewer are healthy than wanted", IntOrString(2), {}, 1, 2, 0},
        {"maxUnavailable zero", {}, IntOrString(0), 3, 3, 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        pods_of_set(3, row.healthy);
        PodDisruptionBudget wanted = budget();
        wanted.spec.min_available = row.minimum;
        wanted.spec.max_unavailable = row.maximum;
        api.put(wanted);
        run<DisruptionController>();
        EXPECT_EQ(status().expected_pods, 3);
        EXPECT_EQ(status().current_healthy, row.healthy);
        EXPECT_EQ(status().desired_healthy, row.desired);
        EXPECT_EQ(status().disruptions_allowed, row.allowed);
        EXPECT_EQ(reason(), row.allowed > 0 ? "True SufficientPods" : "False InsufficientPods");
        crash();
        for (const Pod& pod : pods()) api.erase<Pod>(client::key_of(pod));
        api.erase<PodDisruptionBudget>(Key);
    }
}

TEST_F(DisruptionTest, AnEvictedPodIsNotHealthyAnyMoreUntilItIsClearThatItStays) {
    pods_of_set(3, 3);
    PodDisruptionBudget wanted = budget();
    wanted.spec.min_available = IntOrString(1);
    wanted.status.disrupted_pods["web-0"] = Timestamp(loop.wall_now());
    api.put(wanted);
    run<DisruptionController>();
    EXPECT_EQ(status().current_healthy, 2);
    EXPECT_EQ(status().disruptions_allowed, 1);
    pass(3min);
    EXPECT_EQ(status().current_healthy, 3);
    EXPECT_TRUE(status().disrupted_pods.empty());
}

TEST_F(DisruptionTest, FollowsPodsAsTheyBecomeReadyAndGo) {
    pods_of_set(2, 1);
    PodDisruptionBudget wanted = budget();
    wanted.spec.min_available = IntOrString(1);
    api.put(wanted);
    run<DisruptionController>();
    EXPECT_EQ(status().disruptions_allowed, 0);
    set_ready({"ns", "web-1"});
    pass(1s);
    EXPECT_EQ(status().disruptions_allowed, 1);
    api.erase<Pod>({"ns", "web-0"});
    pass(1s);
    EXPECT_EQ(status().disruptions_allowed, 0);
}

TEST_F(DisruptionTest, ReadsThePodsThatItsBudgetSelectsAndNoOthers) {
    pods_of_set(2, 2);
    for (int i = 0; i < 40; ++i) {
        Pod other = bare_pod("other-" + std::to_string(i));
        other.metadata.labels = {{"app", "other"}};
        api.put(other);
    }
    PodDisruptionBudget wanted = budget();
    wanted.spec.min_available = IntOrString(1);
    api.put(wanted);
    run<DisruptionController>();
    const auto before = shared_objects.times_unpacked();
    set_ready({"ns", "web-0"}, false);
    pass(1s);
    EXPECT_EQ(status().current_healthy, 1);
    EXPECT_LT(shared_objects.times_unpacked() - before, 20u);
}

TEST_F(DisruptionTest, PodsWithoutAnOwnerAreCountedByNumberOnly) {
    api.put(bare_pod("alone"));
    set_ready({"ns", "alone"});
    PodDisruptionBudget wanted = budget();
    wanted.spec.max_unavailable = IntOrString(1);
    api.put(wanted);
    run<DisruptionController>();
    EXPECT_EQ(status().disruptions_allowed, 0);
    api.change<PodDisruptionBudget>(Key, [](PodDisruptionBudget& budget) {
        budget.spec.max_unavailable.reset();
        budget.spec.min_available = IntOrString(0);
    });
    pass(1s);
    EXPECT_EQ(status().disruptions_allowed, 1);
}

TEST_F(DisruptionTest, TheScaleOfAnOwnerOfAnyKindCounts) {
    bool with_scale = false;
    api.set_answer([&](const client::ApiRequest& request) -> std::optional<schema::Value> {
        if (request.path == "/apis/example.com") return schema::parse_json(R"({"versions":[{"version":"v1"}]})").value();
        if (request.path == "/apis/example.com/v1") {
            auto list = schema::parse_json(R"({"resources":[{"name":"fleets","kind":"Fleet","namespaced":true}]})").value();
            if (with_scale) list.find("resources")->as_array().push_back(schema::Value::object({{"name", "fleets/scale"}}));
            return list;
        }
        if (with_scale && request.path == "/apis/example.com/v1/namespaces/ns/fleets/f/scale")
            return schema::parse_json(R"({"metadata":{"name":"f","uid":"u"},"spec":{"replicas":4}})").value();
        return std::nullopt;
    });

    Pod pod = bare_pod("odd");
    auto& owner = pod.metadata.owner_references.emplace_back();
    owner.api_version = "example.com/v1";
    owner.kind = "Fleet";
    owner.name = "f";
    owner.uid = "u";
    owner.controller = true;
    api.put(pod);
    PodDisruptionBudget wanted = budget();
    wanted.spec.min_available = IntOrString("50%");
    api.put(wanted);
    run<DisruptionController>();
    EXPECT_EQ(reason(), "False SyncFailed");
    EXPECT_EQ(status().conditions.at(0).message, "fleets.example.com does not implement the scale subresource");
    with_scale = true;
    pass(1min);
    EXPECT_EQ(reason(), "False InsufficientPods");
    EXPECT_EQ(status().expected_pods, 4);
    EXPECT_EQ(status().desired_healthy, 2);
}

TEST_F(DisruptionTest, APodThatStaysIsNotToBeDisruptedAnyMore) {
    for (const char* name : {"evicted", "ending", "by-kubelet"}) {
        Pod pod = bare_pod(name);
        pod.status.phase = "Running";
        pod.status.conditions.push_back({.type = "DisruptionTarget",
                                         .status = "True",
                                         .last_transition_time = Timestamp(loop.wall_now()),
                                         .reason = pod.metadata.name == "by-kubelet" ? "TerminationByKubelet" : "EvictionByEvictionAPI"});
        if (pod.metadata.name == "ending") {
            pod.metadata.deletion_timestamp = Timestamp(loop.wall_now());
            pod.metadata.deletion_grace_period_seconds = 30;
        }
        api.put(pod);
    }
    run<StaleDisruptionController>();
    const auto said = [&](const char* name) { return api.find<Pod>({"ns", name})->status.conditions.at(0).status; };
    pass(118s);
    EXPECT_EQ(said("evicted"), "True");
    pass(2s);
    EXPECT_EQ(said("evicted"), "False");
    EXPECT_EQ(said("ending"), "True");
    EXPECT_EQ(said("by-kubelet"), "True");
}

}  // namespace
}  // namespace porthole::controllers
