#include "kubelet/pod/resize.h"

#include <gtest/gtest.h>

#include "kubelet/pod/actions.h"

namespace porthole::kubelet {
namespace {

Quantity amount(const char* text) { return Quantity::parse(text).value(); }

core::ResourceRequirements resources(const char* cpu, const char* memory) {
    core::ResourceRequirements made;
    made.requests = {{"cpu", amount(cpu)}, {"memory", amount(memory)}};
    made.limits = made.requests;
    return made;
}

core::Container container(const char* cpu, const char* memory) {
    core::Container made;
    made.name = "c";
    made.resources = resources(cpu, memory);
    return made;
}

cri::ContainerStatus running(const core::ResourceRequirements& given, schema::Box<core::ResourceRequirements> pod = {}) {
    cri::ContainerStatus status;
    status.id = "1";
    status.state = cri::ContainerState::ContainerRunning;
    status.metadata.emplace();
    status.metadata->name = "c";
    set_given_resources(status, {given, std::move(pod)});
    return status;
}

PodRuntimeState in_sandbox() {
    PodRuntimeState state;
    cri::PodSandboxStatus& sandbox = state.sandboxes.emplace_back();
    sandbox.state = cri::PodSandboxState::SandboxReady;
    sandbox.network.emplace();
    sandbox.network->ip = "10.244.0.2";
    return state;
}

const ProbeVerdicts NoProbes{.startup = [](const std::string&) { return ProbeVerdict::Unknown; },
                             .liveness = [](const std::string&) { return ProbeVerdict::Unknown; },
                             .readiness = [](const std::string&) { return ProbeVerdict::Unknown; }};

TEST(Resize, IsPlannedWhereCpuOrMemoryDiffer) {
    core::Container wanted = container("200m", "64Mi");
    wanted.resize_policy = {{.resource_name = "memory", .restart_policy = "RestartContainer"},
                            {.resource_name = "cpu", .restart_policy = "NotRequired"}};
    const struct {
        const char *name, *cpu, *memory;
        ResizeStep step;
    } rows[] = {
        {"nothing", "200m", "64Mi", ResizeStep::None}, {"the same in other words", "0.2", "65536Ki", ResizeStep::None},
        {"cpu", "100m", "64Mi", ResizeStep::InPlace},  {"memory, whose policy asks for a restart", "200m", "32Mi", ResizeStep::Restart},
        {"both", "100m", "32Mi", ResizeStep::Restart},
    };
    for (const auto& row : rows) EXPECT_EQ(resize_step(wanted, {}, {resources(row.cpu, row.memory), {}}), row.step) << row.name;
}

TEST(Resize, GivenResourcesAreNotedWithTheContainer) {
    const GivenResources given{resources("1", "1Gi"), resources("2", "2Gi")};
    EXPECT_EQ(given_resources(running(given.container, given.pod)), given);
    cri::ContainerStatus status = running(given.container, given.pod);
    set_given_resources(status, {given.container, {}});
    EXPECT_FALSE(given_resources(status)->pod) << "no longer of the pod as a whole";
    EXPECT_EQ(given_resources(cri::ContainerStatus()), std::nullopt) << "one of an older kubelet";
}

TEST(Resize, RunningContainersAreChangedInPlaceOrStartedAgain) {
    core::Pod pod;
    pod.spec.containers = {container("200m", "64Mi")};
    PodRuntimeState state = in_sandbox();
    state.containers = {running(resources("100m", "64Mi"))};
    const PodActions in_place = compute_actions(pod, state, NoProbes);
    EXPECT_FALSE(in_place.resize_pod);
    ASSERT_EQ(in_place.containers_to_resize.size(), 1u);
    EXPECT_EQ(in_place.containers_to_resize[0].id, "1");
    EXPECT_TRUE(in_place.containers_to_kill.empty());

    pod.spec.containers[0].resize_policy = {{.resource_name = "cpu", .restart_policy = "RestartContainer"}};
    const PodActions again = compute_actions(pod, state, NoProbes);
    EXPECT_TRUE(again.containers_to_resize.empty());
    ASSERT_EQ(again.containers_to_kill.size(), 1u);
    EXPECT_EQ(again.containers_to_kill[0].message, "Container c resize requires restart");

    set_given_resources(state.containers[0], {pod.spec.containers[0].resources, {}});
    EXPECT_TRUE(compute_actions(pod, state, NoProbes).empty());
}

TEST(Resize, OfThePodAsAWholeReachesContainersWithoutLimitsOfTheirOwn) {
    core::Pod pod;
    core::Container own = container("100m", "64Mi"), none;
    none.name = "none";
    pod.spec.containers = {own, none};
    pod.spec.resources = resources("400m", "256Mi");
    PodRuntimeState state = in_sandbox();
    state.containers = {running(own.resources, resources("300m", "128Mi")), running({}, resources("300m", "128Mi"))};
    state.containers[1].id = "2";
    state.containers[1].metadata->name = "none";

    const PodActions in_place = compute_actions(pod, state, NoProbes);
    EXPECT_TRUE(in_place.resize_pod);
    ASSERT_EQ(in_place.containers_to_resize.size(), 1u) << "the other keeps its own limits";
    EXPECT_EQ(in_place.containers_to_resize[0].id, "2");
    EXPECT_EQ(with_given_resources(pod, state).spec.resources, resources("300m", "128Mi")) << "until it is done";

    pod.spec.containers[1].resize_policy = {{.resource_name = "memory", .restart_policy = "RestartContainer"}};
    const PodActions again = compute_actions(pod, state, NoProbes);
    ASSERT_EQ(again.containers_to_kill.size(), 1u);
    EXPECT_EQ(again.containers_to_kill[0].id, "2");

    state.containers = {running(own.resources, pod.spec.resources), running({}, pod.spec.resources)};
    state.containers[1].metadata->name = "none";
    EXPECT_TRUE(compute_actions(pod, state, NoProbes).empty());
    pod.spec.resources->requests["cpu"] = amount("350m");
    EXPECT_TRUE(compute_actions(pod, state, NoProbes).resize_pod) << "a request alone";
    EXPECT_TRUE(compute_actions(pod, state, NoProbes).containers_to_resize.empty());
}

TEST(Resize, IsToldWithWhatTheContainersAreToHave) {
    core::Pod pod;
    pod.metadata.generation = 3;
    pod.spec.containers = {container("100m", "64Mi")};
    EXPECT_EQ(resize_message("Pod resize started", pod),
              R"(Pod resize started: {"containers":[{"name":"c","resources":{"limits":{"cpu":"100m","memory":"64Mi"},)"
              R"("requests":{"cpu":"100m","memory":"64Mi"}}}],"generation":3})");
    EXPECT_TRUE(resize_message("Pod resize error", pod, "no").ends_with(R"("generation":3,"error":"no"})"));
}

TEST(Resize, AKubeletThatStartsAgainKnowsWhatWasGiven) {
    core::Pod pod;
    pod.spec.containers = {container("100m", "64Mi")};
    core::ContainerStatus& status = pod.status.container_statuses.emplace_back();
    status.name = "c";
    status.container_id = "containerd://1";
    status.state.running.emplace();
    status.resources = resources("100m", "32Mi");
    EXPECT_EQ(reported_as_given(pod), (std::map<std::string, GivenResources>{{"1", {resources("100m", "32Mi"), {}}}}));

    pod.spec.resources = resources("400m", "256Mi");
    EXPECT_TRUE(reported_as_given(pod).empty()) << "it is not told what the pod as a whole has";
    pod.status.resources = resources("300m", "128Mi");
    pod.status.resources->limits.erase("cpu");
    core::ResourceRequirements whole = resources("300m", "128Mi");
    whole.limits.erase("cpu");
    EXPECT_EQ(reported_as_given(pod).at("1").pod, whole) << "a limit that is not reported is still to be set";

    status.state = {};
    status.state.terminated.emplace();
    EXPECT_TRUE(reported_as_given(pod).empty());
}

TEST(Resize, APodWaitsWithWhatItHas) {
    core::Pod before, after;
    before.spec.containers = {container("100m", "64Mi")};
    after.spec.containers = {container("4", "64Mi")};
    after.metadata.generation = 2;
    EXPECT_TRUE(differ_in_resources(before, after));
    const core::Pod waiting = with_resources_of(after, before);
    EXPECT_FALSE(differ_in_resources(waiting, before));
    EXPECT_EQ(waiting.metadata.generation, 2);
}

}  // namespace
}  // namespace porthole::kubelet
