#include "kubelet/status_manager.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

/// The pod "default/p", as the kubelet sees it: a test tells the status manager what is observed and what is reported.
struct StatusManagerTest : testing::Test {
    StatusManagerTest() {
        scope.spawn(statuses.run());
        core::Pod pod;
        pod.metadata.name = Key.name;
        pod.metadata.namespace_ = Key.namespace_;
        pod.spec.node_name = "n1";
        pod.spec.termination_grace_period_seconds = 30;
        observed = api.put(pod);
        statuses.observe(uid(), observed);
    }
    ~StatusManagerTest() override { EXPECT_TRUE(porthole::sim::run(loop, scope.close())); }

    std::string uid() const { return observed.metadata.uid; }
    void report(const std::string& phase) {
        core::PodStatus status;
        status.phase = phase;
        statuses.set(observed, status);
    }
    std::string phase() const { return api.find<core::Pod>(Key)->status.phase; }
    /// Someone else changes the pod; returns what is stored.
    core::Pod change(const std::string& nominated_node) {
        return api.change<core::Pod>(Key, [&](core::Pod& pod) { pod.status.nominated_node_name = nominated_node; });
    }
    /// The next `count` requests are answered with an error.
    void refuse(int count, Reason reason) {
        api.set_fault([count, reason](const client::ApiRequest&) mutable {
            return count-- > 0 ? std::optional<Error>(Error(reason, "refused")) : std::nullopt;
        });
    }

    const client::NamespacedName Key{"default", "p"};
    porthole::sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    StatusManager statuses{loop, client, Logger(make_null_sink(), "status")};
    Scope scope{loop};
    core::Pod observed;
};

TEST_F(StatusManagerTest, AReportIsWrittenOnceNobodyElseWritesToThePod) {
    for (const Reason reason : {Reason::Conflict, Reason::NotFound}) {
        SCOPED_TRACE(static_cast<int>(reason));
        report("Running");
        loop.advance(1s);
        ASSERT_EQ(phase(), "Running");
        refuse(3, reason);
        report("Failed");
        loop.advance(8s);
        EXPECT_EQ(phase(), "Failed");
    }
}

TEST_F(StatusManagerTest, WhatIsObservedWhileARequestFailsLeadsToTheNextOneAtOnce) {
    api.set_latency(100ms);
    refuse(1, Reason::Conflict);
    report("Failed");
    loop.advance(50ms);
    statuses.observe(uid(), change("n2"));
    loop.advance(200ms);
    EXPECT_EQ(phase(), "Failed");
}

TEST_F(StatusManagerTest, AnAnswerDoesNotReplaceALaterObservation) {
    api.set_fault([this](const client::ApiRequest&) -> std::optional<Error> {
        core::Pod later = observed;  // as if the answer took longer than this state
        later.status.phase = "Pending";
        later.metadata.resource_version = "1000";
        statuses.observe(uid(), later);
        api.set_fault(nullptr);
        return std::nullopt;
    });
    report("Running");
    loop.advance(1s);
    api.change<core::Pod>(Key, [](core::Pod& pod) { pod.status.phase = "Pending"; });
    loop.advance(15s);
    EXPECT_EQ(phase(), "Running");
}

TEST_F(StatusManagerTest, NothingIsWrittenToAPodThatWasRemoved) {
    report("Running");
    loop.advance(1s);
    api.erase<core::Pod>(Key);
    report("Failed");
    loop.advance(500ms);  // the write fails
    statuses.unobserve(uid());
    api.clear_requests();
    loop.advance(1min);
    EXPECT_TRUE(api.requests().empty());
}

TEST_F(StatusManagerTest, AnAnswerDoesNotBringBackAPodWhoseRemovalWasObserved) {
    api.set_latency(100ms);
    report("Running");
    loop.advance(50ms);
    statuses.unobserve(uid());
    loop.advance(100ms);
    ASSERT_EQ(phase(), "Running");
    api.erase<core::Pod>(Key);
    api.clear_requests();
    report("Failed");
    loop.advance(1min);
    EXPECT_TRUE(api.requests().empty());
}

TEST_F(StatusManagerTest, AnEndedPodIsDeletedAlsoWhenOthersWriteToIt) {
    api.remove<core::Pod>(Key);
    const core::Pod marked = *api.find<core::Pod>(Key);
    refuse(2, Reason::Conflict);
    statuses.observe(uid(), marked);
    statuses.mark_finished(uid());
    loop.advance(4s);
    EXPECT_FALSE(api.find<core::Pod>(Key));
}

TEST_F(StatusManagerTest, AStatusThatCannotBeWrittenIsTriedEveryTenSecondsHoweverOftenThePodChanges) {
    refuse(1000000, Reason::InternalError);
    report("Failed");
    loop.advance(1min);
    for (int i = 0; i < 20; ++i) {
        statuses.observe(uid(), change(std::to_string(i)));
        loop.advance(100ms);
    }
    api.clear_requests();
    loop.advance(10min);
    EXPECT_LE(api.requests().size(), 61u);
    EXPECT_GE(api.requests().size(), 59u);
}

}  // namespace
}  // namespace porthole::kubelet
