#include <gtest/gtest.h>

#include "controllers/framework/batches.h"
#include "controllers/framework/claim.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/look_pace.h"
#include "controllers/framework/pod_control.h"
#include "controllers/framework/pod_ranking.h"
#include "controllers/framework/revisions.h"
#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Pod;
using api::meta::v1::ObjectMeta;

TEST(Expectations, HoldUntilSeenOrFiveMinutesHavePassed) {
    sim::SimLoop loop;
    Expectations expectations(loop);
    const Expectations::Key owner{"ns", "web"};
    EXPECT_TRUE(expectations.satisfied(owner));
    expectations.expect_creations(owner, 2);
    expectations.expect_deletion(owner, "u1");
    expectations.creation_observed(owner);
    expectations.creation_observed(owner);
    EXPECT_FALSE(expectations.satisfied(owner));
    expectations.deletion_observed(owner, "other");
    EXPECT_FALSE(expectations.satisfied(owner));
    expectations.deletion_observed(owner, "u1");
    EXPECT_TRUE(expectations.satisfied(owner));
    expectations.expect_creations(owner, 1);
    loop.advance(5min);
    EXPECT_TRUE(expectations.satisfied(owner));
}

TEST(LookPace, ManyPodsWaitForTheirTimeAndForTheThread) {
    sim::SimLoop loop;
    LookPace pace(loop, 1ms);
    const client::NamespacedName large{"ns", "large"}, larger{"ns", "larger"}, small{"ns", "small"};
    EXPECT_EQ(pace.wait(large), 0s) << "the first";
    pace.looked(large, 500, loop.now());
    EXPECT_EQ(pace.wait(large), 500ms);
    loop.advance(1s);
    EXPECT_LE(pace.wait(large), 0s);

    const MonotonicTime began = loop.now();
    loop.advance(1s);
    pace.looked(larger, 50'000, began);
    EXPECT_EQ(pace.wait(larger), 4s) << "a fifth of the time";
    EXPECT_EQ(pace.wait(large), 4s);
    EXPECT_EQ(pace.wait(small), 0s);
    pace.looked(small, LookPace::Few - 1, loop.now());
    EXPECT_EQ(pace.wait(small), 0s);
    loop.advance(4s);
    pace.looked(larger, 50'000, loop.now());
    EXPECT_EQ(pace.wait(larger), LookPace::Longest);
    pace.looked(larger, 3, loop.now());
    EXPECT_EQ(pace.wait(larger), 0s) << "most of its pods have gone";
}

TEST(Claim, DecidesByControllerSelectorAndDeletion) {
    ObjectMeta owner, orphan, own, foreign;
    owner.uid = "me";
    own.owner_references.emplace_back().uid = "me";
    foreign.owner_references.emplace_back().uid = "them";
    own.owner_references[0].controller = foreign.owner_references[0].controller = true;
    ObjectMeta dying_owner = owner, dying_orphan = orphan;
    dying_owner.deletion_timestamp = dying_orphan.deletion_timestamp = Timestamp::from_seconds(1);
    const struct {
        const char* name;
        const ObjectMeta& owner;
        const ObjectMeta& dependent;
        bool selected;
        ClaimAction action;
    } rows[] = {
        {"own and matching", owner, own, true, ClaimAction::Keep},
        {"own, no longer matching", owner, own, false, ClaimAction::Release},
        {"own, owner going", dying_owner, own, false, ClaimAction::Ignore},
        {"somebody else's", owner, foreign, true, ClaimAction::Ignore},
        {"matching orphan", owner, orphan, true, ClaimAction::Adopt},
        {"other orphan", owner, orphan, false, ClaimAction::Ignore},
        {"orphan, owner going", dying_owner, orphan, true, ClaimAction::Ignore},
        {"orphan going", owner, dying_orphan, true, ClaimAction::Ignore},
    };
    for (const auto& row : rows) EXPECT_EQ(decide_claim(row.owner, row.dependent, row.selected), row.action) << row.name;
}

TEST(TemplateHash, IsStableShortAndMovedByCollisions) {
    const auto a = pod_template("web", "nginx:1"), b = pod_template("web", "nginx:2");
    EXPECT_EQ(template_hash(a, {}), template_hash(a, {}));
    EXPECT_NE(template_hash(a, {}), template_hash(b, {}));
    EXPECT_NE(template_hash(a, {}), template_hash(a, 1));
    EXPECT_LE(template_hash(a, {}).size(), 10u);
    EXPECT_EQ(template_hash(a, {}).find_first_of("aeiou013"), std::string::npos);
}

RankedPod ranked(const std::string& name, const std::function<void(Pod&)>& change = {}, int neighbors = 0) {
    Pod pod;
    pod.metadata.name = pod.metadata.uid = name;
    pod.metadata.creation_timestamp = Timestamp::from_seconds(1'000'000);
    pod.spec.node_name = "n1";
    pod.status.phase = "Running";
    auto& ready = pod.status.conditions.emplace_back();
    ready.type = "Ready";
    ready.status = "True";
    ready.last_transition_time = Timestamp::from_seconds(1'000'000);
    if (change) change(pod);
    return {std::make_shared<const Pod>(pod), neighbors};
}

TEST(PodRanking, TakesThePodThatHurtsLeast) {
    std::vector<RankedPod> pods;
    pods.push_back(ranked("8 old"));
    pods.push_back(ranked("7 young", [](Pod& pod) { pod.metadata.creation_timestamp = Timestamp::from_seconds(1'900'000); }));
    pods.push_back(ranked("6 restarted", [](Pod& pod) { pod.status.container_statuses.emplace_back().restart_count = 3; }));
    pods.push_back(ranked("a sidecar restarted", [](Pod& pod) {
        auto& container = pod.spec.init_containers.emplace_back();
        container.name = "proxy";
        container.restart_policy = "Always";
        auto& statuses = pod.status.init_container_statuses;
        statuses.resize(2);
        statuses[0].name = "proxy";
        statuses[0].restart_count = 3;
        statuses[1].name = "setup";
        statuses[1].restart_count = 9;
    }));
    pods.push_back(
        ranked("5 just ready", [](Pod& pod) { pod.status.conditions[0].last_transition_time = Timestamp::from_seconds(1'900'000); }));
    pods.push_back(ranked("4 crowded", {}, 2));
    pods.push_back(ranked("3 cheap", [](Pod& pod) { pod.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "-5"; }));
    pods.push_back(ranked("2 not ready", [](Pod& pod) { pod.status.conditions[0].status = "False"; }));
    pods.push_back(ranked("1 pending", [](Pod& pod) { pod.status.phase = "Pending"; }));
    pods.push_back(ranked("0 unassigned", [](Pod& pod) { pod.spec.node_name = ""; }));
    pods.push_back(ranked("9 dear", [](Pod& pod) { pod.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "5"; }));
    rank_for_deletion(pods, Timestamp::from_seconds(2'000'000).to_system_time());
    std::string order;
    for (const RankedPod& pod : pods) order += pod.pod->metadata.name[0];
    EXPECT_EQ(order, "0123456a789");
}

struct Calls {
    Task<> step(int index) {
        most = std::max(most, index);
        if (index == fails_at) co_return Error(Reason::Forbidden, "exceeded quota");
        co_return {};
    }
    int most = -1, fails_at = -1;
};

TEST(SlowStart, StopsAtTheFirstBatchWithAnError) {
    sim::SimLoop loop;
    Calls all, some;
    some.fails_at = 5;
    const auto good = sim::run(loop, slow_start(20, 1, [&](int i) { return all.step(i); }));
    EXPECT_EQ(good->succeeded, 20);
    const auto bad = sim::run(loop, slow_start(20, 1, [&](int i) { return some.step(i); }));
    EXPECT_EQ(bad->succeeded, 6);
    EXPECT_EQ(bad->error->message, "exceeded quota");
    EXPECT_EQ(some.most, 6) << "batches are 0, 1-2, 3-6";
}

struct TerminatingNamespace {
    Task<> create(int) {
        ++requests;
        Error error(Reason::Forbidden, "pods is forbidden");
        error.details->causes.push_back({"NamespaceTerminating", "namespace ns is being terminated", "metadata.namespace"});
        co_return error;
    }
    int requests = 0;
};

TEST(CreateExpected, AsksOnceInANamespaceThatIsBeingDeleted) {
    sim::SimLoop loop;
    Expectations expectations(loop);
    const Expectations::Key owner{"ns", "web"};
    TerminatingNamespace space;
    EXPECT_TRUE(sim::run(loop, create_expected(expectations, owner, 500, [&](int i) { return space.create(i); })));
    EXPECT_EQ(space.requests, 1);
    EXPECT_TRUE(expectations.satisfied(owner));
}

TEST(CreateExpected, ExpectsWhatWasCreatedOnly) {
    sim::SimLoop loop;
    Expectations expectations(loop);
    const Expectations::Key owner{"ns", "web"};
    Calls some;
    some.fails_at = 2;
    const auto created = sim::run(loop, create_expected(expectations, owner, 20, [&](int i) { return some.step(i); }));
    EXPECT_EQ(created.error().message, "exceeded quota");
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(expectations.satisfied(owner));
        expectations.creation_observed(owner);
    }
    EXPECT_TRUE(expectations.satisfied(owner)) << "0 and one of 1-2";
}

/// Requests that each take a second.
struct Requests {
    explicit Requests(EventLoop& its_loop) : loop(its_loop) {}
    Task<> one(int index) {
        most = std::max(most, ++open);
        CO_TRY_VOID(co_await loop.sleep(std::chrono::seconds(1)));
        --open;
        ++done;
        if (index % 100 == 50) co_return Error(Reason::NotFound, "pod " + std::to_string(index));
        co_return {};
    }
    EventLoop& loop;
    int open = 0, most = 0, done = 0;
};

TEST(SlowStart, HasAtMost64RequestsInFlight) {
    sim::SimLoop loop;
    Requests requests(loop);
    EXPECT_EQ(sim::run(loop, slow_start(500, 1, [&](int) { return requests.one(0); }))->succeeded, 500);
    EXPECT_EQ(requests.most, 64);
}

TEST(PerformAll, DoesAllAtMost64AtATimeAndTellsTheFirstError) {
    sim::SimLoop loop;
    Requests requests(loop);
    std::vector<Task<>> tasks;
    for (int i = 0; i < 500; ++i) tasks.push_back(requests.one(i));
    EXPECT_EQ(sim::run(loop, perform_all(std::move(tasks))).error().message, "pod 50");
    EXPECT_EQ(requests.done, 500);
    EXPECT_EQ(requests.most, 64);
}

}  // namespace
}  // namespace porthole::controllers
