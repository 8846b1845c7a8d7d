#include "controllers/replicaset/replica_set.h"

#include "controllers/framework/sim/sim_world.h"
#include "controllers/replicaset/replication_controller.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using api::core::v1::ReplicationController;
using client::ApiRequest;
using client::NamespacedName;

const NamespacedName Key{"ns", "web"};

struct ReplicaSetTest : SimWorld {
    ReplicaSet put(int replicas, int min_ready = 0) {
        ReplicaSet set;
        set.metadata.namespace_ = "ns";
        set.metadata.name = "web";
        set.spec.replicas = replicas;
        set.spec.min_ready_seconds = min_ready;
        set.spec.selector.emplace().match_labels = {{"app", "web"}};
        set.spec.template_ = pod_template("web", "nginx");
        return api.put(set);
    }
    void scale(int replicas) {
        api.change<ReplicaSet>(Key, [&](ReplicaSet& set) { set.spec.replicas = replicas; });
        pass(1s);
    }
    auto status() { return api.find<ReplicaSet>(Key)->status; }
};

TEST_F(ReplicaSetTest, CreatesWhatIsMissing) {
    const ReplicaSet set = put(3);
    run<ReplicaSetController>();
    ASSERT_EQ(pods().size(), 3u);
    const Pod pod = pods()[0];
    EXPECT_TRUE(pod.metadata.name.starts_with("web-"));
    EXPECT_EQ(pod.metadata.labels.at("app"), "web");
    EXPECT_EQ(pod.spec.containers.at(0).image, "nginx");
    ASSERT_EQ(pod.metadata.owner_references.size(), 1u);
    EXPECT_EQ(pod.metadata.owner_references[0], objects::controller_reference(set));
    EXPECT_TRUE(has_event("SuccessfulCreate: Created pod: " + pod.metadata.name));
    EXPECT_EQ(status().replicas, 3);
    EXPECT_EQ(status().fully_labeled_replicas, 3);
    EXPECT_EQ(status().ready_replicas, 0);
    EXPECT_EQ(status().observed_generation, 1);
    kubelet();
    EXPECT_EQ(status().ready_replicas, 3);
    EXPECT_EQ(status().available_replicas, 3);
}

TEST_F(ReplicaSetTest, NeverMakesTooManyWhileItsCacheLags) {
    put(5);
    run<ReplicaSetController>();
    api.set_latency(3s);
    scale(20);
    for (int i = 0; i < 30; ++i) {
        put(20);
        pass(500ms);
        EXPECT_LE(pods().size(), 20u);
    }
    EXPECT_EQ(pods().size(), 20u);
}

TEST_F(ReplicaSetTest, DeletesTheLeastUsefulFirst) {
    put(3);
    run<ReplicaSetController>();
    kubelet();
    const std::string victim = pods()[1].metadata.name;
    set_ready({"ns", victim}, false);
    scale(2);
    EXPECT_TRUE(api.find<Pod>({"ns", victim})->metadata.deletion_timestamp.has_value());
    EXPECT_TRUE(has_event("SuccessfulDelete: Deleted pod: " + victim));
    EXPECT_EQ(status().replicas, 2);
    EXPECT_EQ(status().terminating_replicas, 1);
    kubelet();
    EXPECT_EQ(status().terminating_replicas, 0);
}

TEST_F(ReplicaSetTest, ReplacesPodsThatFailOrGo) {
    put(2);
    run<ReplicaSetController>();
    kubelet();
    set_phase(client::key_of(pods()[0]), "Failed");
    api.remove<Pod>(client::key_of(pods()[1]));
    pass(1s);
    EXPECT_EQ(pods().size(), 4u);
    EXPECT_EQ(status().replicas, 2);
}

TEST_F(ReplicaSetTest, AdoptsMatchingOrphansAndReleasesStrangers) {
    Pod orphan;
    orphan.metadata.namespace_ = "ns";
    orphan.metadata.name = "orphan";
    orphan.metadata.labels = {{"app", "web"}};
    api.put(orphan);
    const ReplicaSet set = put(2);
    run<ReplicaSetController>();
    EXPECT_EQ(pods().size(), 2u);
    EXPECT_TRUE(objects::is_controlled_by(api.find<Pod>({"ns", "orphan"})->metadata, set.metadata.uid));
    api.change<Pod>({"ns", "orphan"}, [](Pod& pod) { pod.metadata.labels = {{"app", "debug"}}; });
    pass(1s);
    EXPECT_TRUE(api.find<Pod>({"ns", "orphan"})->metadata.owner_references.empty());
    EXPECT_EQ(pods().size(), 3u);
}

TEST_F(ReplicaSetTest, CountsPodsWhoseLabelsAreNoneAtAll) {
    put(2);
    run<ReplicaSetController>();
    api.change<Pod>(client::key_of(pods()[0]), [](Pod& pod) { pod.metadata.labels["odd"] = "x\2y"; });
    kubelet();
    pass(1s);
    EXPECT_EQ(pods().size(), 2u);
    EXPECT_EQ(status().replicas, 2);
    EXPECT_EQ(status().ready_replicas, 2);
}

TEST_F(ReplicaSetTest, FindsItsOrphansByLabelsOrByExpressions) {
    for (const char* name : {"orphan", "stranger"}) {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.metadata.labels = {{"app", name == std::string("orphan") ? "web" : "debug"}};
        api.put(pod);
    }
    const ReplicaSet set = put(1);
    PodOwnerIndex pods = context(ReplicaSetController::Account).pods_by_owner();
    run<ReplicaSetController>();
    EXPECT_TRUE(objects::is_controlled_by(api.find<Pod>({"ns", "orphan"})->metadata, set.metadata.uid));
    EXPECT_EQ(pods.candidates_of(set.metadata, set.spec.selector).size(), 1u) << "pods with other labels are not read";
    api.change<ReplicaSet>(Key, [](ReplicaSet& changed) {
        changed.spec.selector->match_labels.clear();
        changed.spec.selector->match_expressions.push_back({.key = "app", .operator_ = "In", .values = {"web"}});
    });
    pass(1s);
    EXPECT_EQ(pods.candidates_of(set.metadata, api.find<ReplicaSet>(Key)->spec.selector).size(), 2u);
}

TEST_F(ReplicaSetTest, ManyPodsAreLookedAtOnceForTheChangesOfATime) {
    put(1000);
    run<ReplicaSetController>();
    pass(1s);
    ASSERT_EQ(pods().size(), 1000u);
    kubelet();
    pass(1s);
    api.clear_requests();
    for (int i = 0; i < 40; ++i) {
        set_ready({"ns", pods()[static_cast<std::size_t>(i)].metadata.name}, false);
        pass(10ms);
    }
    pass(1s);
    const auto decoded = shared_objects.times_unpacked();
    set_ready({"ns", pods()[40].metadata.name}, false);
    pass(1s);
    EXPECT_LT(shared_objects.times_unpacked() - decoded, 20u) << "the others are counted without being read";
    const auto writes = std::ranges::count_if(api.requests(), [](const auto& one) { return one.path.ends_with("/web/status"); });
    EXPECT_GE(writes, 4) << "one in a tenth of a second";
    EXPECT_LE(writes, 8);
    EXPECT_EQ(status().ready_replicas, 959) << "the last change is not forgotten";
}

TEST_F(ReplicaSetTest, HasNoPodsInOtherNamespacesWhateverTheySay) {
    const ReplicaSet set = put(2);
    run<ReplicaSetController>();
    for (const char* name : {"a", "b", "c"}) {
        Pod foreign;
        foreign.metadata.namespace_ = "other";
        foreign.metadata.name = name;
        foreign.metadata.labels = {{"app", "web"}};
        foreign.metadata.owner_references = {objects::controller_reference(set)};
        api.put(foreign);
    }
    scale(3);
    EXPECT_EQ(status().replicas, 3);
    EXPECT_EQ(pods().size(), 3u);
    for (const Pod& pod : api.list<Pod>()) EXPECT_FALSE(objects::is_terminating(pod)) << pod.metadata.name;
}

TEST_F(ReplicaSetTest, AQuotaStopsItGentlyAndShowsAsCondition) {
    int creations = 0;
    bool full = true;
    api.set_fault([&](const ApiRequest& request) -> std::optional<Error> {
        if (request.method != "POST" || !request.path.ends_with("/pods")) return std::nullopt;
        ++creations;
        if (!full) return std::nullopt;
        return Error(Reason::Forbidden, "exceeded quota");
    });
    put(100);
    run<ReplicaSetController>();
    EXPECT_LT(creations, 20) << "one at a time, with back-off";
    ASSERT_EQ(status().conditions.size(), 1u);
    EXPECT_EQ(status().conditions[0].type, "ReplicaFailure");
    EXPECT_EQ(status().conditions[0].reason, "FailedCreate");
    EXPECT_EQ(status().conditions[0].message, "exceeded quota");
    EXPECT_TRUE(has_event("FailedCreate: Error creating: exceeded quota"));
    full = false;
    pass(20min);
    EXPECT_EQ(pods().size(), 100u);
    EXPECT_TRUE(status().conditions.empty());
}

TEST_F(ReplicaSetTest, PodsOfANamespaceThatIsBeingDeletedAreNotReplaced) {
    put(100);
    run<ReplicaSetController>();
    kubelet();
    ASSERT_EQ(pods().size(), 100u);
    int creations = 0;
    api.set_fault([&](const ApiRequest& request) -> std::optional<Error> {
        if (request.method != "POST" || !request.path.ends_with("/pods")) return std::nullopt;
        ++creations;
        Error error(Reason::Forbidden, "pods is forbidden");
        error.details->causes.push_back({"NamespaceTerminating", "namespace ns is being terminated", "metadata.namespace"});
        return error;
    });
    int deletions = 0;
    for (const Pod& pod : pods()) {
        api.remove<Pod>({"ns", pod.metadata.name});
        if (++deletions % 10 == 0) kubelet();
    }
    EXPECT_EQ(pods().size(), 0u);
    EXPECT_LE(creations, 100) << "550 pods were missing, all in all";
    for (const std::string& event : events()) EXPECT_FALSE(event.starts_with("FailedCreate")) << event;
}

TEST_F(ReplicaSetTest, PodsAreAvailableOnceReadyLongEnough) {
    put(1, 30);
    run<ReplicaSetController>();
    kubelet();
    EXPECT_EQ(status().ready_replicas, 1);
    EXPECT_EQ(status().available_replicas, 0);
    pass(31s);
    EXPECT_EQ(status().available_replicas, 1);
}

TEST_F(ReplicaSetTest, ADyingSetMakesNothing) {
    ReplicaSet set = put(0);
    set.spec.replicas = 3;
    set.metadata.finalizers = {"hold"};
    set.metadata.deletion_timestamp = Timestamp(loop.wall_now());
    api.put(set);
    run<ReplicaSetController>();
    pass(1min);
    EXPECT_TRUE(pods().empty());
}

TEST_F(ReplicaSetTest, SurvivesACrashBetweenCreations) {
    put(10);
    api.set_latency(300ms);
    run<ReplicaSetController>();
    crash();
    EXPECT_LT(pods().size(), 10u);
    run<ReplicaSetController>();
    pass(1min);
    EXPECT_EQ(pods().size(), 10u);
}

TEST_F(ReplicaSetTest, ReplicationControllersAreKeptTheSameWay) {
    ReplicationController controller;
    controller.metadata.namespace_ = "ns";
    controller.metadata.name = "old";
    controller.spec.replicas = 2;
    controller.spec.selector = {{"app", "old"}};
    controller.spec.template_ = pod_template("old", "nginx");
    api.put(controller);
    run<ReplicationControllerController>();
    kubelet();
    ASSERT_EQ(pods().size(), 2u);
    EXPECT_EQ(pods()[0].metadata.owner_references[0].kind, "ReplicationController");
    const auto status = api.find<ReplicationController>({"ns", "old"})->status;
    EXPECT_EQ(status.ready_replicas, 2);
    EXPECT_EQ(status.observed_generation, 1);
}

}  // namespace
}  // namespace porthole::controllers
