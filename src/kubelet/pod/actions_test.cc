#include "kubelet/pod/actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/pod/backoff.h"
#include "kubelet/pod/resources.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

core::Container container(const std::string& name, const char* restart_policy = nullptr) {
    core::Container made;
    made.name = name;
    made.image = "image:1";
    if (restart_policy) made.restart_policy = restart_policy;
    return made;
}

/// A pod "ns/p" with what the runtime has of it, put together step by step.
struct Scene {
    explicit Scene(const char* restart_policy = "Always") {
        pod.metadata.name = "p";
        pod.metadata.namespace_ = "ns";
        pod.metadata.uid = "u1";
        pod.spec.restart_policy = restart_policy;
    }
    Scene& regular(const std::string& name) {
        pod.spec.containers.push_back(container(name));
        return *this;
    }
    Scene& init(const std::string& name) {
        pod.spec.init_containers.push_back(container(name));
        return *this;
    }
    Scene& sidecar(const std::string& name) {
        pod.spec.init_containers.push_back(container(name, "Always"));
        return *this;
    }
    Scene& sandbox(bool ready = true, std::uint32_t attempt = 0) {
        cri::PodSandboxStatus made;
        made.id = "s" + std::to_string(attempt);
        made.metadata.emplace().attempt = attempt;
        made.state = ready ? cri::PodSandboxState::SandboxReady : cri::PodSandboxState::SandboxNotready;
        made.created_at = ++time;
        made.network.emplace().ip = "10.0.0.1";
        state.sandboxes.insert(state.sandboxes.begin(), made);
        return *this;
    }
    Scene& runs(const std::string& name) { return has(name, cri::ContainerState::ContainerRunning, 0); }
    Scene& exited(const std::string& name, int code) { return has(name, cri::ContainerState::ContainerExited, code); }
    Scene& has(const std::string& name, cri::ContainerState in_state, int code) {
        cri::ContainerStatus made;
        made.id = "c" + std::to_string(++time);
        made.metadata.emplace().name = name;
        made.state = in_state;
        made.exit_code = code;
        made.created_at = time;
        made.annotations[ContainerHashAnnotation] = container_hash(container(name));
        state.containers.insert(state.containers.begin(), made);
        return *this;
    }
    PodActions plan() const {
        const auto look = [](const std::map<std::string, ProbeVerdict>& verdicts) {
            return [&verdicts](const std::string& id) {
                const auto found = verdicts.find(id);
                return found == verdicts.end() ? ProbeVerdict::Unknown : found->second;
            };
        };
        return compute_actions(pod, state, {look(startup), look(liveness), look({})});
    }
    std::string id(const std::string& name) const { return state.find_newest(name)->id; }

    core::Pod pod;
    PodRuntimeState state;
    std::map<std::string, ProbeVerdict> startup, liveness;
    std::int64_t time = 0;
};

std::vector<std::string> starts(const PodActions& actions) {
    std::vector<std::string> names;
    for (const ContainerSpec& spec : actions.containers_to_start) names.push_back(spec.container.name);
    return names;
}

TEST(PodActions, ANewPodGetsASandboxAndAllItsContainersInOrder) {
    const PodActions actions = Scene().regular("b").regular("a").plan();
    EXPECT_TRUE(actions.create_sandbox);
    EXPECT_FALSE(actions.kill_pod);
    EXPECT_FALSE(actions.sandbox_changed);
    EXPECT_EQ(actions.attempt, 0u);
    EXPECT_THAT(starts(actions), ElementsAre("b", "a"));
}

TEST(PodActions, ARunningPodNeedsNothing) { EXPECT_TRUE(Scene().regular("a").sandbox().runs("a").plan().empty()); }

TEST(PodActions, InitContainersRunOneByOneBeforeTheOthers) {
    Scene scene;
    scene.init("i1").init("i2").regular("a");
    EXPECT_THAT(starts(scene.plan()), ElementsAre("i1"));
    scene.sandbox().runs("i1");
    EXPECT_TRUE(scene.plan().empty());
    scene.state.containers[0].state = cri::ContainerState::ContainerExited;
    EXPECT_THAT(starts(scene.plan()), ElementsAre("i2"));
    scene.exited("i2", 0);
    EXPECT_THAT(starts(scene.plan()), ElementsAre("a"));
}

TEST(PodActions, AFailedInitContainerComesBackOrEndsThePod) {
    EXPECT_THAT(starts(Scene("Always").init("i").regular("a").sandbox().exited("i", 1).plan()), ElementsAre("i"));
    EXPECT_THAT(starts(Scene("OnFailure").init("i").regular("a").sandbox().exited("i", 1).plan()), ElementsAre("i"));
    const PodActions never = Scene("Never").init("i").regular("a").sandbox().exited("i", 1).plan();
    EXPECT_TRUE(never.kill_pod);
    EXPECT_THAT(starts(never), IsEmpty());
}

TEST(PodActions, ASidecarIsStartedInPlaceAndOthersWaitUntilItHasStarted) {
    Scene scene;
    scene.sidecar("proxy").init("i").regular("a");
    scene.pod.spec.init_containers[0].startup_probe.emplace();
    scene.sandbox().runs("proxy");
    EXPECT_THAT(starts(scene.plan()), IsEmpty());
    scene.startup[scene.id("proxy")] = ProbeVerdict::Success;
    EXPECT_THAT(starts(scene.plan()), ElementsAre("i"));
    scene.exited("i", 0);
    EXPECT_THAT(starts(scene.plan()), ElementsAre("a"));
}

TEST(PodActions, ASidecarThatEndsComesBackWhileThePodRunsWhateverThePolicy) {
    EXPECT_THAT(starts(Scene("Never").sidecar("proxy").regular("a").sandbox().exited("proxy", 0).runs("a").plan()), ElementsAre("proxy"));
}

TEST(PodActions, SidecarsDoNotKeepAFinishedPodAlive) {
    const PodActions actions = Scene("Never").sidecar("proxy").regular("a").sandbox().runs("proxy").exited("a", 0).plan();
    EXPECT_TRUE(actions.kill_pod);
    EXPECT_THAT(starts(actions), IsEmpty());
}

TEST(PodActions, EndedContainersComeBackAsThePolicySays) {
    struct {
        const char* policy;
        int code;
        bool back;
    } const rows[] = {
        {"Always", 0, true}, {"Always", 1, true}, {"OnFailure", 0, false}, {"OnFailure", 1, true}, {"Never", 1, false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(std::string(row.policy) + " " + std::to_string(row.code));
        const PodActions actions = Scene(row.policy).regular("a").regular("b").sandbox().exited("a", row.code).runs("b").plan();
        EXPECT_EQ(actions.containers_to_start.size(), row.back ? 1u : 0u);
        EXPECT_FALSE(actions.kill_pod);
    }
}

TEST(PodActions, AContainersOwnRuleWinsOverThePodsPolicy) {
    Scene scene("Never");
    scene.regular("a").regular("b").sandbox().runs("b").exited("a", 42);
    core::ContainerRestartRule rule;
    rule.action = "Restart";
    rule.exit_codes.emplace().operator_ = "In";
    rule.exit_codes->values = {42};
    scene.pod.spec.containers[0].restart_policy = "Never";
    scene.pod.spec.containers[0].restart_policy_rules = {rule};
    EXPECT_THAT(starts(scene.plan()), ElementsAre("a"));
    scene.pod.spec.containers[0].restart_policy_rules[0].exit_codes->values = {1};
    EXPECT_THAT(starts(scene.plan()), IsEmpty());
}

TEST(PodActions, ARuleCanRestartAllContainersOfThePod) {
    Scene scene("Never");
    scene.init("i").sidecar("proxy").regular("a").regular("b").sandbox();
    core::ContainerRestartRule rule{.action = "RestartAllContainers"};
    rule.exit_codes.emplace().operator_ = "In";
    rule.exit_codes->values = {42};
    scene.pod.spec.containers[0].restart_policy = "Never";
    scene.pod.spec.containers[0].restart_policy_rules = {rule};
    scene.exited("i", 0).runs("proxy").exited("a", 1).runs("b");
    EXPECT_THAT(scene.plan().containers_to_reset, IsEmpty()) << "no rule for this exit code";
    scene.state.containers[1].exit_code = 42;

    const std::string i = scene.id("i"), proxy = scene.id("proxy"), a = scene.id("a"), b = scene.id("b");
    const PodActions actions = scene.plan();
    EXPECT_THAT(actions.containers_to_reset, ElementsAre(b, i, proxy, a)) << "what made them restart goes last";
    EXPECT_THAT(starts(actions), IsEmpty());
    EXPECT_FALSE(actions.empty());

    std::erase_if(scene.state.containers, [&](const cri::ContainerStatus& status) { return status.id != a; });
    EXPECT_THAT(scene.plan().containers_to_reset, ElementsAre(a)) << "goes on where it was interrupted";
    scene.state.containers.clear();
    EXPECT_THAT(starts(scene.plan()), ElementsAre("i")) << "all begin anew, in the same sandbox";
    EXPECT_FALSE(scene.plan().create_sandbox);

    scene.exited("a", 42);
    scene.pod.metadata.deletion_timestamp = Timestamp::from_seconds(1);
    EXPECT_THAT(scene.plan().containers_to_reset, IsEmpty());
}

TEST(PodActions, ADeadSandboxIsReplacedAndInitializationBeginsAgain) {
    Scene scene;
    scene.init("i").regular("a").sandbox(false, 2).exited("i", 0).runs("a");
    const PodActions actions = scene.plan();
    EXPECT_TRUE(actions.kill_pod);
    EXPECT_TRUE(actions.create_sandbox);
    EXPECT_TRUE(actions.sandbox_changed);
    EXPECT_EQ(actions.attempt, 3u);
    EXPECT_THAT(starts(actions), ElementsAre("i"));
    scene.state.containers[0].state = cri::ContainerState::ContainerExited;
    scene.sandbox(true, 3);
    EXPECT_THAT(starts(scene.plan()), ElementsAre("i"));
    scene.exited("i", 0);
    EXPECT_THAT(starts(scene.plan()), ElementsAre("a"));
}

TEST(PodActions, AFinishedPodGetsNoNewSandbox) {
    for (const char* policy : {"Never", "OnFailure"}) {
        const PodActions actions = Scene(policy).regular("a").sandbox(false).exited("a", 0).plan();
        EXPECT_FALSE(actions.create_sandbox) << policy;
        EXPECT_THAT(starts(actions), IsEmpty());
    }
}

TEST(PodActions, ProbesAndChangedImagesKill) {
    Scene scene;
    scene.regular("a").sandbox().runs("a");
    scene.pod.spec.containers[0].liveness_probe.emplace();
    scene.liveness[scene.id("a")] = ProbeVerdict::Failure;
    PodActions actions = scene.plan();
    ASSERT_EQ(actions.containers_to_kill.size(), 1u);
    EXPECT_EQ(actions.containers_to_kill[0].message, "Container a failed liveness probe, will be restarted");
    EXPECT_FALSE(actions.kill_pod);

    scene.liveness.clear();
    scene.pod.spec.containers[0].image = "image:2";
    actions = scene.plan();
    ASSERT_EQ(actions.containers_to_kill.size(), 1u);
    EXPECT_EQ(actions.containers_to_kill[0].message, "Container a definition changed, will be restarted");
}

TEST(PodActions, ADeletedPodStartsNothing) {
    Scene scene;
    scene.regular("a").sandbox().exited("a", 1);
    scene.pod.metadata.deletion_timestamp = Timestamp::from_seconds(1);
    EXPECT_THAT(starts(scene.plan()), IsEmpty());
}

TEST(Backoff, DoublesUpToItsLimitAndStartsOverWhenLeftAlone) {
    Backoff backoff;
    MonotonicTime now{};
    EXPECT_EQ(backoff.delay("k"), 0s);
    for (const auto expected : {10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
        backoff.next("k", now);
        EXPECT_EQ(backoff.delay("k"), expected);
        EXPECT_TRUE(backoff.is_waiting("k", now, now + expected - 1ns));
        EXPECT_FALSE(backoff.is_waiting("k", now, now + expected));
        now += expected;
    }
    now += 601s;
    backoff.next("k", now);
    EXPECT_EQ(backoff.delay("k"), 10s);
}

Quantity quantity(const char* text) { return Quantity::parse(text).value(); }

TEST(PodResources, QosClassFollowsRequestsAndLimits) {
    core::Pod pod;
    pod.spec.containers = {container("a"), container("b")};
    EXPECT_EQ(objects::qos_class(pod.spec), "BestEffort");
    for (core::Container& one : pod.spec.containers) one.resources.limits = {{"cpu", quantity("1")}, {"memory", quantity("1Gi")}};
    EXPECT_EQ(objects::qos_class(pod.spec), "Guaranteed");
    pod.spec.containers[1].resources.requests = {{"cpu", quantity("500m")}};
    EXPECT_EQ(objects::qos_class(pod.spec), "Burstable");
    pod.spec.containers[1].resources = {};
    EXPECT_EQ(objects::qos_class(pod.spec), "Burstable");
}

TEST(PodResources, TheLargestMomentCounts) {
    core::Pod pod;
    const auto with = [](core::Container made, const char* cpu) {
        made.resources.requests = {{"cpu", quantity(cpu)}};
        return made;
    };
    pod.spec.containers = {with(container("a"), "100m"), with(container("b"), "200m")};
    pod.spec.init_containers = {with(container("s", "Always"), "50m"), with(container("i"), "600m")};
    EXPECT_EQ(objects::pod_requests(pod.spec).at("cpu").milli_value(), 650);
    pod.spec.init_containers[1] = with(container("i"), "10m");
    EXPECT_EQ(objects::pod_requests(pod.spec).at("cpu").milli_value(), 350);
}

TEST(PodResources, KernelNumbers) {
    EXPECT_EQ(cpu_shares_of(0), 2);
    EXPECT_EQ(cpu_shares_of(500), 512);
    EXPECT_EQ(cpu_quota_of(0), 0);
    EXPECT_EQ(cpu_quota_of(5), 1000);
    EXPECT_EQ(cpu_quota_of(500), 50'000);
    core::Pod pod;
    pod.spec.containers = {container("a")};
    EXPECT_EQ(oom_score_adjustment(pod, pod.spec.containers[0], 1000), 1000);
    pod.spec.containers[0].resources.requests = {{"memory", Quantity::from_value(250)}};
    EXPECT_EQ(oom_score_adjustment(pod, pod.spec.containers[0], 1000), 750);
    pod.spec.containers.push_back(container("b"));
    pod.spec.resources.emplace().requests = {{"memory", Quantity::from_value(450)}};
    EXPECT_EQ(oom_score_adjustment(pod, pod.spec.containers[0], 1000), 650) << "what no container names is shared out";
    EXPECT_EQ(oom_score_adjustment(pod, pod.spec.containers[1], 1000), 900);
    pod.spec.priority = 2'000'000'000;
    EXPECT_EQ(oom_score_adjustment(pod, pod.spec.containers[0], 1000), -997);
}

}  // namespace
}  // namespace porthole::kubelet
