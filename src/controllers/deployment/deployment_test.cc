#include "controllers/deployment/deployment.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "controllers/replicaset/replica_set.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::DeploymentCondition;
using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using client::NamespacedName;

const NamespacedName Key{"ns", "web"};

struct DeploymentTest : SimWorld {
    Deployment make(int replicas, IntOrString surge = "25%", IntOrString unavailable = "25%") {
        Deployment deployment;
        deployment.metadata.namespace_ = "ns";
        deployment.metadata.name = "web";
        deployment.spec.replicas = replicas;
        deployment.spec.selector.emplace().match_labels = {{"app", "web"}};
        deployment.spec.template_ = pod_template("web", "nginx:1");
        deployment.spec.strategy.type = "RollingUpdate";
        auto& update = deployment.spec.strategy.rolling_update.emplace();
        update.max_surge = surge;
        update.max_unavailable = unavailable;
        deployment.spec.progress_deadline_seconds = 600;
        deployment.spec.revision_history_limit = 10;
        return deployment;
    }
    void begin(const Deployment& deployment) {
        api.put(deployment);
        run<DeploymentController>();
        run<ReplicaSetController>();
        settle();
    }
    void settle() {
        for (int i = 0; i < 40; ++i) kubelet();
    }
    void change(const std::function<void(Deployment&)>& change) {
        api.change<Deployment>(Key, change);
        pass(1s);
    }
    void set_image(const std::string& image) {
        change([&](Deployment& deployment) { deployment.spec.template_.spec.containers[0].image = image; });
    }
    Deployment get() { return *api.find<Deployment>(Key); }
    std::string condition(const std::string& type) {
        for (const DeploymentCondition& condition : get().status.conditions)
            if (condition.type == type) return condition.status + " " + condition.reason + ": " + condition.message;
        return "none";
    }
    /// "image × replicas" of every set that has pods, and "-" for an empty one, oldest first.
    std::map<std::string, int> sizes() {
        std::map<std::string, int> sizes;
        for (const ReplicaSet& set : sets()) sizes[set.spec.template_.spec.containers[0].image] += set.spec.replicas.value_or(0);
        return sizes;
    }
    std::vector<ReplicaSet> sets() { return api.list<ReplicaSet>("ns"); }
    ReplicaSet set_of(const std::string& image) {
        for (const ReplicaSet& set : sets())
            if (set.spec.template_.spec.containers[0].image == image) return set;
        return {};
    }
    int running() {
        const auto all = pods();
        return static_cast<int>(
            std::ranges::count_if(all, [](const Pod& pod) { return objects::is_ready(pod) && !objects::is_terminating(pod); }));
    }
};

TEST_F(DeploymentTest, MakesAReplicaSetAndReportsCompletion) {
    begin(make(3));
    ASSERT_EQ(sets().size(), 1u);
    const ReplicaSet set = sets()[0];
    const std::string hash = set.metadata.labels.at("pod-template-hash");
    EXPECT_EQ(set.metadata.name, "web-" + hash);
    EXPECT_EQ(set.spec.selector->match_labels.at("pod-template-hash"), hash);
    EXPECT_EQ(set.metadata.annotations.at("deployment.kubernetes.io/revision"), "1");
    EXPECT_EQ(set.metadata.annotations.at("deployment.kubernetes.io/desired-replicas"), "3");
    EXPECT_EQ(set.metadata.annotations.at("deployment.kubernetes.io/max-replicas"), "4");
    EXPECT_EQ(pods().size(), 3u);
    const Deployment done = get();
    EXPECT_EQ(done.metadata.annotations.at("deployment.kubernetes.io/revision"), "1");
    EXPECT_EQ(done.metadata.generation, 1);
    EXPECT_EQ(done.status.observed_generation, 1);
    EXPECT_EQ(done.status.available_replicas, 3);
    EXPECT_EQ(done.status.updated_replicas, 3);
    EXPECT_EQ(done.status.unavailable_replicas, 0);
    EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable: Deployment has minimum availability.");
    EXPECT_EQ(condition("Progressing"),
              "True NewReplicaSetAvailable: ReplicaSet \"" + set.metadata.name + "\" has successfully progressed.");
    EXPECT_TRUE(has_event("ScalingReplicaSet: Scaled up replica set " + set.metadata.name + " from 0 to 3"));
}

TEST_F(DeploymentTest, NotingTheRevisionMakesNoNewGeneration) {
    begin(make(1));
    set_image("nginx:2");
    settle();
    EXPECT_EQ(get().metadata.annotations.at("deployment.kubernetes.io/revision"), "2");
    for (const auto& request : api.requests())
        EXPECT_FALSE(request.method == "PUT" && request.path.ends_with("/deployments/web")) << "a changed annotation counts there";
}

TEST_F(DeploymentTest, RollsWithoutEverLackingOrExceedingWhatIsAllowed) {
    begin(make(10, 2, 1));
    set_image("nginx:2");
    for (int i = 0; i < 60; ++i) {
        EXPECT_GE(running(), 9);
        const auto all = pods();
        EXPECT_LE(std::ranges::count_if(all, [](const Pod& pod) { return objects::is_active(pod); }), 12);
        kubelet();
    }
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:1", 0}, {"nginx:2", 10}}));
    EXPECT_EQ(get().metadata.annotations.at("deployment.kubernetes.io/revision"), "2");
    EXPECT_TRUE(condition("Progressing").starts_with("True NewReplicaSetAvailable"));
    EXPECT_EQ(get().status.observed_generation, 2);
}

TEST_F(DeploymentTest, GoingBackReusesTheOldSetUnderANewRevision) {
    begin(make(2));
    set_image("nginx:2");
    settle();
    set_image("nginx:1");
    settle();
    EXPECT_EQ(sets().size(), 2u);
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:1", 2}, {"nginx:2", 0}}));
    EXPECT_EQ(set_of("nginx:1").metadata.annotations.at("deployment.kubernetes.io/revision"), "3");
    EXPECT_EQ(set_of("nginx:1").metadata.annotations.at("deployment.kubernetes.io/revision-history"), "1");
    EXPECT_EQ(get().metadata.annotations.at("deployment.kubernetes.io/revision"), "3");
}

TEST_F(DeploymentTest, RecreateStopsAllOldPodsBeforeTheFirstNewOne) {
    Deployment wanted = make(3);
    wanted.spec.strategy = {};
    wanted.spec.strategy.type = "Recreate";
    begin(wanted);
    set_image("nginx:2");
    pass(10s);
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:1", 0}}));
    EXPECT_EQ(pods().size(), 3u) << "still terminating";
    settle();
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:1", 0}, {"nginx:2", 3}}));
    EXPECT_EQ(get().status.available_replicas, 3);
}

TEST_F(DeploymentTest, APausedDeploymentScalesButDoesNotRoll) {
    begin(make(2));
    change([](Deployment& deployment) { deployment.spec.paused = true; });
    EXPECT_EQ(condition("Progressing"), "Unknown DeploymentPaused: Deployment is paused");
    set_image("nginx:2");
    change([](Deployment& deployment) { deployment.spec.replicas = 4; });
    settle();
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:1", 4}}));
    change([](Deployment& deployment) { deployment.spec.paused = false; });
    settle();
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:1", 0}, {"nginx:2", 4}}));
}

TEST_F(DeploymentTest, ScalesBothSidesOfAHalfDoneRollout) {
    begin(make(10, 5, 0));
    set_image("broken");
    pass(10s);  // nothing becomes ready: 10 old, 5 new
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"broken", 5}, {"nginx:1", 10}}));
    change([](Deployment& deployment) { deployment.spec.replicas = 20; });
    pass(10s);
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"broken", 8}, {"nginx:1", 17}}));
}

TEST_F(DeploymentTest, SaysSoWhenTheDeadlinePassesAndRecovers) {
    begin(make(2, 1, 0));
    set_image("broken");
    pass(10s);
    EXPECT_TRUE(condition("Progressing").starts_with("True ReplicaSetUpdated")) << condition("Progressing");
    pass(11min);
    EXPECT_EQ(condition("Progressing"),
              "False ProgressDeadlineExceeded: ReplicaSet \"" + set_of("broken").metadata.name + "\" has timed out progressing.");
    EXPECT_TRUE(condition("Available").starts_with("True"));
    set_image("nginx:1");
    settle();
    EXPECT_TRUE(condition("Progressing").starts_with("True NewReplicaSetAvailable"));
}

TEST_F(DeploymentTest, ReportsThatPodsCannotBeMade) {
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method == "POST" && request.path.ends_with("/pods")) return Error(Reason::Forbidden, "exceeded quota");
        return std::nullopt;
    });
    begin(make(2));
    EXPECT_EQ(condition("ReplicaFailure"), "True FailedCreate: exceeded quota");
    EXPECT_TRUE(condition("Available").starts_with("False MinimumReplicasUnavailable"));
    EXPECT_EQ(get().status.unavailable_replicas, 2);
    api.set_fault({});
    pass(10min);
    settle();
    EXPECT_EQ(condition("ReplicaFailure"), "none");
}

TEST_F(DeploymentTest, KeepsAsMuchHistoryAsItShould) {
    Deployment wanted = make(1);
    wanted.spec.revision_history_limit = 2;
    begin(wanted);
    for (int i = 2; i <= 6; ++i) {
        set_image("nginx:" + std::to_string(i));
        settle();
    }
    EXPECT_EQ(sizes(), (std::map<std::string, int>{{"nginx:4", 0}, {"nginx:5", 0}, {"nginx:6", 1}}));
}

TEST_F(DeploymentTest, AStrangersSetOfTheSameNameIsACollision) {
    begin(make(1));
    const std::string name = sets()[0].metadata.name;
    crash();
    api.erase<ReplicaSet>({"ns", name});
    ReplicaSet stranger;
    stranger.metadata.namespace_ = "ns";
    stranger.metadata.name = name;
    stranger.spec.selector.emplace().match_labels = {{"app", "other"}};
    stranger.spec.replicas = 0;
    api.put(stranger);
    run<DeploymentController>();
    run<ReplicaSetController>();
    pass(10s);
    EXPECT_EQ(get().status.collision_count, 1);
    EXPECT_EQ(sets().size(), 2u);
}

TEST_F(DeploymentTest, RefusesToSelectEverything) {
    Deployment wanted = make(1);
    wanted.spec.selector->match_labels.clear();
    begin(wanted);
    EXPECT_TRUE(sets().empty());
    EXPECT_TRUE(has_event("SelectingAll: This deployment is selecting all pods. A non-empty selector is required."));
}

TEST_F(DeploymentTest, ConvergesWhateverIsLostOrRefused) {
    std::uint64_t asked = 0;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method == "GET" || ++asked % 5 != 0) return std::nullopt;
        return asked % 2 ? Error(Reason::Unavailable, "connection reset") : Error(Reason::Conflict, "try again");
    });
    begin(make(5));
    for (int i = 2; i < 6; ++i) {
        set_image("nginx:" + std::to_string(i));
        kubelet();
        api.drop_watches();
        kubelet();
        if (i == 4) api.expire_watches();
        if (i == 3) {
            crash();
            run<DeploymentController>();
            run<ReplicaSetController>();
        }
    }
    pass(5min);
    settle();
    pass(30min);
    settle();
    EXPECT_EQ(sizes().at("nginx:5"), 5);
    EXPECT_EQ(pods().size(), 5u);
    EXPECT_TRUE(condition("Progressing").starts_with("True NewReplicaSetAvailable"));
}

}  // namespace
}  // namespace porthole::controllers
