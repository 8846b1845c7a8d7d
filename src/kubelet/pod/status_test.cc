#include "kubelet/pod/status.h"

#include <gtest/gtest.h>

#include "kubelet/pod/resize.h"
#include "kubelet/pod/resources.h"

namespace porthole::kubelet {
namespace {

constexpr SystemTime Now{std::chrono::seconds(1'000'000)};

struct StatusTest : testing::Test {
    StatusTest() {
        pod.metadata.name = "p";
        pod.metadata.namespace_ = "ns";
        pod.metadata.uid = "u";
        pod.spec.restart_policy = "Always";
        pod.spec.containers.emplace_back().name = "a";
        const auto verdict = [](ProbeVerdict& value) { return [&value](const std::string&) { return value; }; };
        probes = {verdict(startup), verdict(unknown), verdict(readiness)};
    }
    void add_init(const std::string& name) { pod.spec.init_containers.emplace_back().name = name; }
    cri::ContainerStatus& has(const std::string& name, cri::ContainerState state, int code = 0) {
        cri::ContainerStatus made;
        made.id = name + std::to_string(runtime.containers.size());
        made.metadata.emplace().name = name;
        made.state = state;
        made.exit_code = code;
        made.reason = code ? "Error" : "Completed";
        made.started_at = 5'000'000'000;
        return *runtime.containers.insert(runtime.containers.begin(), made);
    }
    cri::ContainerStatus& runs(const std::string& name) { return has(name, cri::ContainerState::ContainerRunning); }
    cri::ContainerStatus& exited(const std::string& name, int code) { return has(name, cri::ContainerState::ContainerExited, code); }
    void sandbox() {
        cri::PodSandboxStatus made;
        made.network.emplace().ip = "10.1.0.7";
        runtime.sandboxes = {made};
    }
    core::PodStatus status() {
        return generate_status({.pod = pod,
                                .state = runtime,
                                .probes = probes,
                                .waiting = waiting,
                                .previous = previous,
                                .host_addresses = {"192.0.2.1"},
                                .runtime_name = "containerd",
                                .finishing = finishing,
                                .terminated = terminated,
                                .now = Now});
    }
    std::string condition(const core::PodStatus& of, const char* type) {
        for (const core::PodCondition& one : of.conditions)
            if (one.type == type) return one.status + (one.reason.empty() ? "" : " " + one.reason + ": " + one.message);
        return "none";
    }

    core::Pod pod;
    PodRuntimeState runtime;
    ProbeVerdict startup = ProbeVerdict::Unknown, unknown = ProbeVerdict::Unknown, readiness = ProbeVerdict::Unknown;
    ProbeVerdicts probes;
    std::map<std::string, WaitingReason> waiting;
    core::PodStatus previous;
    bool finishing = false, terminated = false;
};

TEST_F(StatusTest, ManyContainersTakeLinearTime) {
    constexpr int Many = 10'000;
    for (int i = 0; i < Many; ++i) {
        pod.spec.containers.emplace_back().name = "c" + std::to_string(i);
        add_init("i" + std::to_string(i));
    }
    previous = status();
    EXPECT_EQ(status().container_statuses.size(), Many + 1u);
    EXPECT_EQ(status().phase, "Pending");
}

TEST_F(StatusTest, ARefusedPodKeepsItsReasonAfterARestartOfTheKubeletAndCreatesNoContainer) {
    previous.phase = "Failed";
    previous.reason = "HostPIDUnsupported";
    terminated = true;
    const core::PodStatus now = status();
    EXPECT_EQ(now.phase, "Failed");
    EXPECT_EQ(now.reason, "HostPIDUnsupported");
    EXPECT_TRUE(now.container_statuses.empty()) << "kubectl would show their state instead of the reason";
}

TEST_F(StatusTest, ANewPodIsPendingAndSaysWhatIsMissing) {
    const core::PodStatus now = status();
    EXPECT_EQ(now.phase, "Pending");
    EXPECT_EQ(now.host_ip, "192.0.2.1");
    EXPECT_EQ(now.pod_ip, "");
    EXPECT_EQ(now.start_time, Timestamp(Now));
    EXPECT_EQ(now.container_statuses[0].state.waiting->reason, "ContainerCreating");
    EXPECT_EQ(condition(now, "PodReadyToStartContainers"), "False");
    EXPECT_EQ(condition(now, "Initialized"), "True");
    EXPECT_EQ(condition(now, "Ready"), "False ContainersNotReady: containers with unready status: [a]");
    EXPECT_EQ(condition(now, "ContainersReady"), "False ContainersNotReady: containers with unready status: [a]");
    EXPECT_EQ(condition(now, "PodScheduled"), "True");
}

TEST_F(StatusTest, ARunningPodIsReadyWithItsAddress) {
    sandbox();
    runs("a").image_ref = "sha256:1";
    const core::PodStatus now = status();
    EXPECT_EQ(now.phase, "Running");
    EXPECT_EQ(now.pod_ip, "10.1.0.7");
    EXPECT_EQ(now.container_statuses[0].container_id, "containerd://a0");
    EXPECT_TRUE(now.container_statuses[0].ready);
    EXPECT_EQ(now.container_statuses[0].started, true);
    EXPECT_EQ(now.container_statuses[0].state.running->started_at.seconds(), 5);
    EXPECT_EQ(condition(now, "Ready"), "True");
}

TEST_F(StatusTest, ReadinessAndStartupProbesDecide) {
    sandbox();
    runs("a");
    pod.spec.containers[0].readiness_probe.emplace();
    pod.spec.containers[0].startup_probe.emplace();
    EXPECT_EQ(status().container_statuses[0].started, false);
    startup = ProbeVerdict::Success;
    EXPECT_EQ(status().container_statuses[0].started, true);
    EXPECT_FALSE(status().container_statuses[0].ready);
    readiness = ProbeVerdict::Success;
    EXPECT_TRUE(status().container_statuses[0].ready);
}

TEST_F(StatusTest, ReadinessGatesHoldReadyBack) {
    sandbox();
    runs("a");
    pod.spec.readiness_gates.emplace_back().condition_type = "example.com/lb";
    EXPECT_EQ(condition(status(), "Ready"),
              "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"example.com/lb\" does not exist.");
    core::PodCondition gate;
    gate.type = "example.com/lb";
    gate.status = "True";
    previous.conditions = {gate};
    EXPECT_EQ(condition(status(), "Ready"), "True");
}

TEST_F(StatusTest, WhatCouldNotStartAndNeverComesBackHasFailed) {
    sandbox();
    pod.spec.restart_policy = "Never";
    exited("a", 128).reason = "StartError";
    waiting["a"] = {"RunContainerError", "no such file"};
    EXPECT_EQ(status().phase, "Failed");
    EXPECT_EQ(status().container_statuses[0].state.terminated->reason, "StartError");
    pod.spec.restart_policy = "OnFailure";
    EXPECT_EQ(status().container_statuses[0].state.waiting->reason, "RunContainerError");
}

TEST_F(StatusTest, ACrashShowsWhyItWaitsAndHowItEnded) {
    sandbox();
    exited("a", 3).annotations[RestartCountAnnotation] = "2";
    waiting["a"] = {"CrashLoopBackOff", "back-off 20s"};
    const core::PodStatus now = status();
    EXPECT_EQ(now.phase, "Running");
    const core::ContainerStatus& one = now.container_statuses[0];
    EXPECT_EQ(one.state.waiting->reason, "CrashLoopBackOff");
    EXPECT_EQ(one.last_state.terminated->exit_code, 3);
    EXPECT_EQ(one.restart_count, 2);
}

TEST_F(StatusTest, TheAttemptBeforeIsTheLastState) {
    sandbox();
    exited("a", 7);
    runs("a");
    const core::PodStatus now = status();
    EXPECT_TRUE(now.container_statuses[0].state.running);
    EXPECT_EQ(now.container_statuses[0].last_state.terminated->exit_code, 7);
}

TEST_F(StatusTest, ThePodsResourcesAreThoseThatAreAllocatedAndThoseThatItHas) {
    const auto quantity = [](const char* text) { return Quantity::parse(text).value(); };
    pod.spec.containers[0].resources.requests = {{"cpu", quantity("100m")}, {"ephemeral-storage", quantity("1Gi")}};
    pod.spec.containers[0].resources.limits = {{"cpu", quantity("200m")}};
    sandbox();
    runs("a");
    core::PodStatus now = status();
    EXPECT_EQ(now.allocated_resources, pod.spec.containers[0].resources.requests);
    EXPECT_EQ(now.resources->requests, (ResourceList{{"cpu", quantity("100m")}}));
    EXPECT_EQ(now.resources->limits, pod.spec.containers[0].resources.limits);

    pod.spec.resources.emplace().requests = {{"cpu", quantity("2")}, {"memory", quantity("1Gi")}};
    pod.spec.resources->limits = {{"memory", quantity("2Gi")}};
    core::ResourceRequirements before;
    before.requests = {{"cpu", quantity("1")}};
    set_given_resources(runtime.containers[0], {pod.spec.containers[0].resources, before});
    now = status();
    EXPECT_EQ(now.allocated_resources["cpu"], quantity("2"));
    EXPECT_EQ(now.resources->requests, (ResourceList{{"cpu", quantity("1")}})) << "a resize is under way";
    set_given_resources(runtime.containers[0], {pod.spec.containers[0].resources, pod.spec.resources});
    now = status();
    EXPECT_EQ(now.resources->requests, pod.spec.resources->requests);
    EXPECT_EQ(now.resources->limits, (ResourceList{{"cpu", quantity("200m")}, {"memory", quantity("2Gi")}}));
}

TEST_F(StatusTest, OverheadIsReportedWithThePodsResourcesAndIsNoResize) {
    const auto quantity = [](const char* text) { return Quantity::parse(text).value(); };
    pod.spec.overhead = {{"cpu", quantity("10m")}, {"memory", quantity("8Mi")}};
    pod.spec.resources.emplace().requests = {{"cpu", quantity("1")}, {"memory", quantity("0")}};
    pod.spec.resources->limits = {{"cpu", quantity("0")}, {"memory", quantity("1Gi")}};
    sandbox();
    runs("a");
    pod.status = status();
    EXPECT_EQ(pod.status.resources->requests["cpu"], quantity("1010m"));
    EXPECT_EQ(pod.status.resources->limits["memory"], quantity("1032Mi"));
    EXPECT_EQ(with_reported_resources(pod).spec.resources, pod.spec.resources);
    EXPECT_FALSE(differ_in_resources(pod, with_reported_resources(pod)));
}

TEST_F(StatusTest, RestartingAllContainersIsToldUntilAllAreRemoved) {
    pod.spec.restart_policy = "Never";
    pod.spec.containers.emplace_back().name = "b";
    core::ContainerRestartRule rule{.action = "RestartAllContainers"};
    rule.exit_codes.emplace().operator_ = "In";
    rule.exit_codes->values = {42};
    pod.spec.containers[0].restart_policy = "Never";
    pod.spec.containers[0].restart_policy_rules = {rule};
    sandbox();
    runs("b");
    runs("a");
    previous = status();
    EXPECT_EQ(condition(previous, "AllContainersRestarting"), "False");
    runtime.containers.clear();
    exited("b", 0);
    exited("a", 42);
    previous = status();
    EXPECT_EQ(previous.phase, "Running") << "it is not over";
    EXPECT_EQ(condition(previous, "AllContainersRestarting"),
              "True RestartAllContainersStarted: container exited with restart policy rule");
    runtime.containers.clear();
    previous = status();
    EXPECT_EQ(condition(previous, "AllContainersRestarting"), "False");
    EXPECT_EQ(previous.phase, "Running");
    for (const core::ContainerStatus& one : previous.container_statuses) {
        EXPECT_EQ(one.state.waiting->reason, "RestartingAllContainers");
        EXPECT_EQ(one.last_state.terminated->reason, "RestartingAllContainers");
        EXPECT_EQ(one.last_state.terminated->exit_code, 137);
        EXPECT_EQ(one.restart_count, 1);
    }
    runs("a");
    const core::PodStatus now = status();
    EXPECT_TRUE(now.container_statuses[0].state.running);
    EXPECT_EQ(now.container_statuses[0].restart_count, 1) << "whatever the runtime counted";
    EXPECT_EQ(now.container_statuses[0].last_state.terminated->reason, "RestartingAllContainers");
}

TEST_F(StatusTest, PhaseOfEndedPodsFollowsPolicyAndExitCodes) {
    struct {
        const char* policy;
        int code;
        bool finishing;
        const char* phase;
    } const rows[] = {
        {"Always", 0, false, "Running"}, {"OnFailure", 0, false, "Succeeded"}, {"OnFailure", 1, false, "Running"},
        {"Never", 1, false, "Failed"},   {"Never", 0, false, "Succeeded"},     {"Always", 0, true, "Succeeded"},
        {"Always", 143, true, "Failed"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.policy) + " " + std::to_string(row.code));
        runtime = {};
        sandbox();
        pod.spec.restart_policy = row.policy;
        exited("a", row.code);
        finishing = row.finishing;
        EXPECT_EQ(status().phase, row.phase);
    }
}

TEST_F(StatusTest, InitContainersKeepThePodPending) {
    add_init("i");
    sandbox();
    EXPECT_EQ(status().container_statuses[0].state.waiting->reason, "PodInitializing");
    EXPECT_EQ(condition(status(), "Initialized"), "False ContainersNotInitialized: containers with incomplete status: [i]");
    exited("i", 1);
    EXPECT_EQ(status().phase, "Pending");
    pod.spec.restart_policy = "Never";
    EXPECT_EQ(status().phase, "Failed");
    runtime.containers[0].exit_code = 0;
    EXPECT_EQ(status().phase, "Pending");
    EXPECT_EQ(condition(status(), "Initialized"), "True");
    runs("a");
    EXPECT_EQ(status().phase, "Running");
}

TEST_F(StatusTest, ATerminalPhaseNeverGoesBack) {
    previous.phase = "Failed";
    previous.reason = "Evicted";
    sandbox();
    runs("a");
    EXPECT_EQ(status().phase, "Failed");
    EXPECT_EQ(status().reason, "Evicted");
}

TEST_F(StatusTest, AContainerThatVanishedIsRememberedAsLost) {
    core::ContainerStatus before;
    before.name = "a";
    before.restart_count = 1;
    before.state.running.emplace();
    previous.container_statuses = {before};
    const core::ContainerStatus one = status().container_statuses[0];
    EXPECT_EQ(one.last_state.terminated->reason, "ContainerStatusUnknown");
    EXPECT_EQ(one.last_state.terminated->exit_code, 137);
    EXPECT_EQ(one.restart_count, 2);
    finishing = terminated = true;
    EXPECT_EQ(status().container_statuses[0].state.terminated->exit_code, 137);
    EXPECT_EQ(status().phase, "Failed");
}

TEST_F(StatusTest, DevicesOfAContainerThatTheRuntimeHasForgottenAreAddedToEachReportAnew) {
    core::ContainerStatus before;
    before.name = "a";
    before.state.terminated.emplace().exit_code = 3;
    before.allocated_resources_status.emplace_back().name = "example.com/device";
    previous.container_statuses = {before};
    const core::ContainerStatus one = status().container_statuses[0];
    EXPECT_EQ(one.state.terminated->exit_code, 3);
    EXPECT_TRUE(one.allocated_resources_status.empty());
}

TEST_F(StatusTest, TransitionTimesMoveOnlyWithTheStatus) {
    previous = status();
    for (core::PodCondition& one : previous.conditions) one.last_transition_time = Timestamp::from_seconds(7);
    sandbox();
    runs("a");
    for (const core::PodCondition& one : status().conditions) {
        const bool unchanged = one.type == "Initialized" || one.type == "PodScheduled";
        EXPECT_EQ(one.last_transition_time, unchanged ? Timestamp::from_seconds(7) : Timestamp(Now)) << one.type;
    }
}

}  // namespace
}  // namespace porthole::kubelet
