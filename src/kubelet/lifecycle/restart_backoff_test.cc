#include "kubelet/lifecycle/restart_backoff.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

struct RestartBackoffTest : testing::Test {
    RestartBackoffTest() {
        pod.metadata.uid = "u";
        spec.container.name = "c";
    }
    /// The container's last end, now.
    void end() {
        cri::ContainerStatus ended;
        ended.metadata.emplace().name = "c";
        ended.state = cri::ContainerState::ContainerExited;
        ended.finished_at = loop.wall_now().time_since_epoch().count();
        state.containers = {ended};
    }
    std::string held_back() {
        const auto reason = backoff.hold_back(pod, state, spec);
        return reason ? reason->reason : "";
    }

    porthole::sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    client::EventRecorder events{loop, client, Logger(make_null_sink(), ""), "kubelet"};
    RestartBackoff backoff{loop, events, Backoff()};
    core::Pod pod;
    PodRuntimeState state;
    ContainerSpec spec;
};

TEST_F(RestartBackoffTest, TheFirstEndIsFollowedByAStartAtOnce) {
    EXPECT_EQ(held_back(), "");
    end();
    EXPECT_FALSE(backoff.delay(pod, state, spec.container));
    EXPECT_EQ(held_back(), "");
}

TEST_F(RestartBackoffTest, FurtherEndsWaitTenSecondsThenTwenty) {
    for (const Duration wait : {Duration::zero(), Duration(10s), Duration(20s)}) {
        end();
        if (wait > Duration::zero()) {
            EXPECT_EQ(held_back(), "CrashLoopBackOff");
            EXPECT_EQ(backoff.delay(pod, state, spec.container), wait);
            loop.advance(wait);
        }
        EXPECT_EQ(held_back(), "");
    }
}

TEST_F(RestartBackoffTest, AContainerThatRunsOrIsNewIsNotHeldBack) {
    end();
    EXPECT_EQ(held_back(), "");
    state.containers[0].state = cri::ContainerState::ContainerRunning;
    EXPECT_EQ(held_back(), "");
}

TEST_F(RestartBackoffTest, AForgottenPodStartsOver) {
    end();
    EXPECT_EQ(held_back(), "");
    EXPECT_EQ(held_back(), "CrashLoopBackOff");
    backoff.forget_pod("u");
    EXPECT_EQ(held_back(), "");
}

}  // namespace
}  // namespace porthole::kubelet
