#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/pod_syncer_fixture.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct PodWorkerTest : testing::Test {
    ~PodWorkerTest() override { EXPECT_TRUE(porthole::sim::run(loop, scope.close())); }
    static std::shared_ptr<core::Pod> pod(std::optional<std::int64_t> deletion_grace = std::nullopt) {
        auto made = std::make_shared<core::Pod>();
        made->metadata.name = "p";
        if (deletion_grace) made->metadata.deletion_timestamp = Timestamp(SystemTime{});
        made->metadata.deletion_grace_period_seconds = deletion_grace;
        return made;
    }
    /// From now on; what it does until `time` from now.
    std::vector<std::string> run_for(Duration time) {
        if (scope.empty()) scope.spawn(worker.run());
        loop.advance(time);
        return std::exchange(syncer.steps, {});
    }

    porthole::sim::SimLoop loop;
    SeededRandom random{1};
    FakeSyncer* made = new FakeSyncer(loop);
    FakeSyncer& syncer = *made;
    PodWorker worker{random, Logger(make_null_sink(), ""), std::unique_ptr<PodSyncer>(made), pod()};
    Scope scope{loop};
};

TEST_F(PodWorkerTest, SyncsWhenWokenAndAtLeastEveryNinetySeconds) {
    EXPECT_THAT(run_for(1s), ElementsAre("sync"));
    EXPECT_THAT(run_for(50s), ElementsAre());
    EXPECT_THAT(run_for(40s), ElementsAre("sync"));
    worker.wake();
    EXPECT_THAT(run_for(1s), ElementsAre("sync"));
}

TEST_F(PodWorkerTest, SyncsWhenItsSyncerHasSomethingToDo) {
    syncer.next = 5s;
    EXPECT_THAT(run_for(1s), ElementsAre("sync"));
    syncer.next.reset();
    EXPECT_THAT(run_for(5s), ElementsAre("sync"));
}

TEST_F(PodWorkerTest, APodThatCannotRunIsStoppedAndCleanedUp) {
    syncer.end = Termination{.reason = "DeadlineExceeded"};
    EXPECT_THAT(run_for(1s), ElementsAre("sync", "stop", "clean up"));
    EXPECT_EQ(syncer.reason, "DeadlineExceeded");
    EXPECT_TRUE(worker.is_finished());
}

TEST_F(PodWorkerTest, TerminationInterruptsASync) {
    syncer.time = 10s;
    EXPECT_THAT(run_for(1s), ElementsAre());
    worker.terminate({.reason = "Evicted"});
    EXPECT_THAT(run_for(15s), ElementsAre("sync interrupted", "stop"));
    EXPECT_EQ(syncer.reason, "Evicted");
}

TEST_F(PodWorkerTest, AShorterGracePeriodInterruptsAStopAndNoCleanUp) {
    syncer.time = 10s;
    EXPECT_THAT(run_for(1s), ElementsAre());
    worker.update(pod(30));
    EXPECT_THAT(run_for(1s), ElementsAre("sync interrupted"));
    worker.update(pod(5));
    EXPECT_THAT(run_for(11s), ElementsAre("stop interrupted", "stop"));
    worker.update(pod(1));
    EXPECT_THAT(run_for(10s), ElementsAre("clean up"));
    EXPECT_TRUE(worker.is_finished());
}

TEST_F(PodWorkerTest, AStepThatFailsIsRepeatedAfterOneTwoAndFourSeconds) {
    syncer.failure = "busy";
    EXPECT_THAT(run_for(500ms), ElementsAre("sync"));
    EXPECT_THAT(run_for(1s), ElementsAre("sync"));
    EXPECT_THAT(run_for(1s), ElementsAre());
    EXPECT_THAT(run_for(1s), ElementsAre("sync"));
    EXPECT_THAT(run_for(3s), ElementsAre());
    EXPECT_THAT(run_for(1s), ElementsAre("sync"));
}

}  // namespace
}  // namespace porthole::kubelet
