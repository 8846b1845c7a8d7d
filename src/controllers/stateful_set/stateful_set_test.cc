#include "controllers/stateful_set/stateful_set.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::apps::v1::ControllerRevision;
using api::apps::v1::StatefulSet;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;

const client::NamespacedName Key{"ns", "web"};

struct StatefulSetTest : SimWorld {
    StatefulSet make(int replicas) {
        StatefulSet set;
        set.metadata.namespace_ = "ns";
        set.metadata.name = "web";
        set.spec.replicas = replicas;
        set.spec.service_name = "nginx";
        set.spec.selector.emplace().match_labels = {{"app", "web"}};
        set.spec.template_ = pod_template("web", "web:1");
        set.spec.pod_management_policy = "OrderedReady";
        set.spec.update_strategy.type = "RollingUpdate";
        set.spec.update_strategy.rolling_update.emplace().partition = 0;
        return set;
    }
    StatefulSet with_claim(StatefulSet set) {
        set.spec.volume_claim_templates.emplace_back().metadata.name = "data";
        return set;
    }
    void begin(const StatefulSet& set) {
        api.put(set);
        run<StatefulSetController>();
    }
    void settle() {
        for (int i = 0; i < 20; ++i) kubelet();
    }
    void change(const std::function<void(StatefulSet&)>& change) {
        api.change<StatefulSet>(Key, change);
        pass(1s);
    }
    /// "web-0=web:1 …", with "-" after those being deleted.
    std::string placed() {
        std::string all;
        for (const Pod& pod : pods())
            all += (all.empty() ? "" : " ") + pod.metadata.name + "=" + pod.spec.containers[0].image +
                   (objects::is_terminating(pod) ? "-" : "");
        return all;
    }
    auto status() { return api.find<StatefulSet>(Key)->status; }
    std::vector<std::string> claims() {
        std::vector<std::string> names;
        for (const auto& claim : api.list<PersistentVolumeClaim>("ns")) names.push_back(claim.metadata.name);
        return names;
    }
};

TEST_F(StatefulSetTest, StartsPodsOneAfterTheOtherWithStableNames) {
    begin(make(3));
    EXPECT_EQ(placed(), "web-0=web:1") << "the next waits until this is ready";
    kubelet();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1");
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:1");
    const Pod pod = pods()[1];
    EXPECT_EQ(pod.spec.hostname, "web-1");
    EXPECT_EQ(pod.spec.subdomain, "nginx");
    EXPECT_EQ(pod.metadata.labels.at("statefulset.kubernetes.io/pod-name"), "web-1");
    EXPECT_EQ(pod.metadata.labels.at("apps.kubernetes.io/pod-index"), "1");
    EXPECT_EQ(pod.metadata.labels.at("controller-revision-hash"), api.list<ControllerRevision>("ns").at(0).metadata.name);
    EXPECT_EQ(status().replicas, 3);
    EXPECT_EQ(status().available_replicas, 3);
    EXPECT_EQ(status().current_revision, status().update_revision);
    EXPECT_EQ(status().observed_generation, 1);
    EXPECT_TRUE(has_event("SuccessfulCreate: Create Pod web-0 in StatefulSet web successful"));
}

TEST_F(StatefulSetTest, ASetOfTwoBillionBeginsAsAnyOther) {
    begin(make(INT32_MAX));
    EXPECT_EQ(placed(), "web-0=web:1");
    kubelet();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1");
}

TEST_F(StatefulSetTest, ParallelSetsDoNotWait) {
    StatefulSet set = make(3);
    set.spec.pod_management_policy = "Parallel";
    set.spec.ordinals.emplace().start = 5;
    begin(set);
    EXPECT_EQ(placed(), "web-5=web:1 web-6=web:1 web-7=web:1");
    change([](StatefulSet& set) { set.spec.replicas = 1; });
    kubelet();
    EXPECT_EQ(placed(), "web-5=web:1");
}

TEST_F(StatefulSetTest, ShrinksFromTheEndOneAtATime) {
    begin(make(3));
    settle();
    change([](StatefulSet& set) { set.spec.replicas = 1; });
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:1-");
    kubelet();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1-");
    settle();
    EXPECT_EQ(placed(), "web-0=web:1");
}

TEST_F(StatefulSetTest, UpdatesFromTheEndAndWaitsForEachToBeReady) {
    begin(make(3));
    settle();
    const std::string before = status().current_revision;
    change([](StatefulSet& set) { set.spec.template_.spec.containers[0].image = "web:2"; });
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:1-");
    kubelet();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:2");
    EXPECT_EQ(status().updated_replicas, 1);
    EXPECT_EQ(status().current_revision, before);
    settle();
    EXPECT_EQ(placed(), "web-0=web:2 web-1=web:2 web-2=web:2");
    EXPECT_NE(status().current_revision, before);
    EXPECT_EQ(status().current_revision, status().update_revision);
    EXPECT_EQ(status().current_replicas, 3);
}

TEST_F(StatefulSetTest, APartitionHoldsTheLowerOnesBackAlsoWhenTheyAreMadeAnew) {
    begin(make(3));
    settle();
    change([](StatefulSet& set) {
        set.spec.template_.spec.containers[0].image = "web:2";
        set.spec.update_strategy.rolling_update->partition = 2;
    });
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:2");
    api.remove<Pod>({"ns", "web-0"});
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:2");
}

TEST_F(StatefulSetTest, TakesNoRevisionFromAnotherNamespace) {
    begin(make(2));
    settle();
    for (ControllerRevision foreign : api.list<ControllerRevision>("ns")) {
        foreign.metadata.namespace_ = "other";
        foreign.revision = -1;
        foreign.data.ensure_path({"spec", "template", "spec", "containers"}).as_array().front()["image"] = "evil:1";
        api.put(foreign);
    }
    change([](StatefulSet& set) {
        set.spec.template_.spec.containers[0].image = "web:2";
        set.spec.update_strategy.rolling_update->partition = 2;
    });
    api.remove<Pod>({"ns", "web-0"});
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1");
}

TEST_F(StatefulSetTest, OnDeleteUpdatesWhatIsDeleted) {
    StatefulSet set = make(2);
    set.spec.update_strategy = {};
    set.spec.update_strategy.type = "OnDelete";
    begin(set);
    settle();
    change([](StatefulSet& set) { set.spec.template_.spec.containers[0].image = "web:2"; });
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1");
    api.remove<Pod>({"ns", "web-1"});
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:2");
}

TEST_F(StatefulSetTest, AFailedPodIsMadeAnewUnderItsName) {
    begin(make(1));
    settle();
    const std::string uid = pods()[0].metadata.uid;
    set_phase({"ns", "web-0"}, "Failed");
    pass(1s);
    settle();
    ASSERT_EQ(placed(), "web-0=web:1");
    EXPECT_NE(pods()[0].metadata.uid, uid);
}

TEST_F(StatefulSetTest, EveryPodHasClaimsOfItsOwnThatOutliveIt) {
    begin(with_claim(make(2)));
    settle();
    EXPECT_EQ(claims(), (std::vector<std::string>{"data-web-0", "data-web-1"}));
    const Pod pod = pods()[1];
    ASSERT_EQ(pod.spec.volumes.size(), 1u);
    EXPECT_EQ(pod.spec.volumes[0].name, "data");
    EXPECT_EQ(pod.spec.volumes[0].persistent_volume_claim->claim_name, "data-web-1");
    change([](StatefulSet& set) { set.spec.replicas = 0; });
    settle();
    EXPECT_EQ(placed(), "");
    EXPECT_EQ(claims().size(), 2u);
    EXPECT_TRUE(api.list<PersistentVolumeClaim>("ns")[0].metadata.owner_references.empty());
    EXPECT_TRUE(has_event("SuccessfulCreate: Create Claim data-web-0 Pod web-0 in StatefulSet web success"));
}

TEST_F(StatefulSetTest, ThePolicySaysWhoseEndIsTheClaims) {
    StatefulSet set = with_claim(make(2));
    auto& policy = set.spec.persistent_volume_claim_retention_policy.emplace();
    policy.when_deleted = policy.when_scaled = "Delete";
    begin(set);
    settle();
    const auto owner = [&](const std::string& claim) {
        const auto owners = api.find<PersistentVolumeClaim>({"ns", claim})->metadata.owner_references;
        return owners.empty() ? "" : owners[0].kind + "/" + owners[0].name;
    };
    EXPECT_EQ(owner("data-web-1"), "StatefulSet/web");
    change([](StatefulSet& set) { set.spec.replicas = 1; });
    EXPECT_EQ(owner("data-web-1"), "Pod/web-1");
    EXPECT_EQ(owner("data-web-0"), "StatefulSet/web");
}

TEST_F(StatefulSetTest, ANewPodDoesNotTakeTheClaimsThatGoWithAnEarlierOne) {
    StatefulSet set = with_claim(make(2));
    auto& policy = set.spec.persistent_volume_claim_retention_policy.emplace();
    policy.when_deleted = "Retain", policy.when_scaled = "Delete";
    begin(set);
    settle();
    change([](StatefulSet& set) { set.spec.replicas = 1; });
    settle();
    change([](StatefulSet& set) { set.spec.replicas = 2; });
    settle();
    EXPECT_EQ(placed(), "web-0=web:1") << "the garbage collector has not deleted the claim yet";
    api.erase<PersistentVolumeClaim>({"ns", "data-web-1"});
    pass(1min);
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1");
    EXPECT_EQ(claims().size(), 2u);
}

TEST_F(StatefulSetTest, SeveralPodsThatAreNotAvailableAreKeptWhenItShrinks) {
    begin(make(1));
    settle();
    pass(100s);
    change([](StatefulSet& set) { set.spec.replicas = 3; });
    settle();
    change([](StatefulSet& set) { set.spec.min_ready_seconds = 60, set.spec.replicas = 1; });
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:1");
    pass(1min);
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:1-");
}

TEST_F(StatefulSetTest, APodGetsTheLabelOfItsNameBack) {
    begin(make(1));
    settle();
    api.change<Pod>({"ns", "web-0"}, [](Pod& pod) { pod.metadata.labels.erase("statefulset.kubernetes.io/pod-name"); });
    pass(1s);
    EXPECT_EQ(pods()[0].metadata.labels.at("statefulset.kubernetes.io/pod-name"), "web-0");
    EXPECT_TRUE(has_event("SuccessfulUpdate: Update Pod web-0 in StatefulSet web successful"));
}

TEST_F(StatefulSetTest, CountsItsPodsWhileItIsDeleted) {
    begin(make(2));
    settle();
    change([this](StatefulSet& set) {
        set.metadata.finalizers = {"foregroundDeletion"};
        set.metadata.deletion_timestamp = Timestamp(loop.wall_now());
    });
    api.erase<Pod>({"ns", "web-1"});
    pass(1s);
    EXPECT_EQ(placed(), "web-0=web:1");
    EXPECT_EQ(status().replicas, 1);
    EXPECT_EQ(status().ready_replicas, 1);
}

TEST_F(StatefulSetTest, ReturningToAnOldTemplateTakesItsRevisionAgain) {
    begin(make(1));
    settle();
    const std::string first = status().current_revision;
    for (const char* image : {"web:2", "web:1"}) {
        change([&](StatefulSet& set) { set.spec.template_.spec.containers[0].image = image; });
        settle();
    }
    EXPECT_EQ(status().current_revision, first);
    EXPECT_EQ(api.list<ControllerRevision>("ns").size(), 2u);
}

TEST_F(StatefulSetTest, OldRevisionsGoBeyondTheLimit) {
    StatefulSet set = make(1);
    set.spec.revision_history_limit = 1;
    begin(set);
    for (const char* image : {"web:2", "web:3", "web:4"}) {
        settle();
        change([&](StatefulSet& set) { set.spec.template_.spec.containers[0].image = image; });
    }
    settle();
    EXPECT_EQ(api.list<ControllerRevision>("ns").size(), 2u) << "the live one and one more";
}

TEST_F(StatefulSetTest, GoesOnAfterACrashInTheMiddle) {
    begin(make(3));
    kubelet();
    crash();
    run<StatefulSetController>();
    settle();
    EXPECT_EQ(placed(), "web-0=web:1 web-1=web:1 web-2=web:1");
}

}  // namespace
}  // namespace porthole::controllers
