// Pods that change while they run: resizes, and rules that restart all containers.
#include "kubelet/kubelet_fixture.h"

#include "kubelet/status_manager.h"
#include "objects/conditions.h"

namespace porthole::kubelet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(KubeletTest, APodIsResizedAsAWhole) {
    add("p", R"({"resources":{"requests":{"cpu":"1","memory":"64Mi"},"limits":{"cpu":"2","memory":"1Gi"}},
        "containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const auto limits = [&] { return *runtime.find("p", "a")->config.linux->resources; };
    EXPECT_EQ(limits().memory_limit_in_bytes, 1 << 30) << "a container has the pod's limits where it has none";
    EXPECT_EQ(limits().cpu_quota, 200'000);
    EXPECT_EQ(pod("p").status.allocated_resources["memory"], Quantity::parse("64Mi").value());
    EXPECT_EQ(pod("p").status.resources, pod("p").spec.resources);
    const auto resize = [&](const char* name, const char* amount) {
        core::Pod changed = pod("p");
        changed.spec.resources->limits[name] = Quantity::parse(amount).value();
        ++changed.metadata.generation;
        api.put(changed);
    };
    const auto has_condition = [&](const char* type, const char* reason) {
        const core::Pod now = pod("p");
        const core::PodCondition* found = objects::find_condition(now.status.conditions, type);
        return found && found->reason == reason;
    };
    EXPECT_THAT(events("ResizeCompleted"), IsEmpty());

    resize("memory", "2Gi");
    ASSERT_TRUE(until([&] { return pod("p").status.resources == pod("p").spec.resources && limits().memory_limit_in_bytes == 2LL << 30; }));
    EXPECT_EQ(events("ResizeStarted").size(), 1u);
    EXPECT_EQ(events("ResizeCompleted").size(), 1u);
    EXPECT_EQ(pod("p").status.container_statuses[0].restart_count, 0);

    runtime.memory = [](const std::string&) { return 32 << 20; };
    resize("memory", "16Mi");
    ASSERT_TRUE(until([&] { return has_condition("PodResizeInProgress", "Error"); }));
    const core::Pod stuck = pod("p");
    EXPECT_THAT(objects::find_condition(stuck.status.conditions, "PodResizeInProgress")->message,
                HasSubstr("attempting to set pod memory limit (16777216) below current usage (33554432)"));
    EXPECT_EQ(limits().memory_limit_in_bytes, 2LL << 30);
    EXPECT_EQ(stuck.status.resources->limits.at("memory"), Quantity::parse("2Gi").value());
    resize("memory", "1Gi");
    ASSERT_TRUE(until([&] { return limits().memory_limit_in_bytes == 1 << 30; }, 60s));
    ASSERT_TRUE(until([&] { return !has_condition("PodResizeInProgress", "Error"); }));

    core::Pod changed = pod("p");
    changed.spec.resources->requests["cpu"] = Quantity::parse("9").value();
    ++changed.metadata.generation;
    api.put(changed);
    ASSERT_TRUE(until([&] { return has_condition("PodResizePending", "Infeasible"); }));
    EXPECT_EQ(pod("p").status.allocated_resources["cpu"], Quantity::parse("1").value());
    loop.advance(30s);
    EXPECT_EQ(events("ResizeInfeasible").size(), 1u) << "told once";

    const std::int64_t shares = limits().cpu_shares;
    stop();
    start();
    loop.advance(60s);
    EXPECT_EQ(limits().cpu_shares, shares) << "a kubelet that starts anew does not allow it either";
    EXPECT_TRUE(has_condition("PodResizePending", "Infeasible"));
    EXPECT_EQ(pod("p").status.allocated_resources["cpu"], Quantity::parse("1").value());
}

TEST_F(KubeletTest, AResizeThatIsReplacedWhileItIsMadeIsMadeGood) {
    add("p", R"({"resources":{"limits":{"memory":"100Mi"}},"containers":[{"name":"a","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const auto resize = [&](const char* memory) {
        api.change<core::Pod>({"default", "p"}, [&](core::Pod& changed) {
            changed.spec.resources->limits["memory"] = Quantity::parse(memory).value();
            ++changed.metadata.generation;
        });
    };
    const auto updates = [&] { return std::ranges::count(runtime.calls(), "UpdateContainerResources"); };
    runtime.latency = 500ms;
    resize("200Mi");
    ASSERT_TRUE(until([&] { return updates() == 1; }));
    resize("300Mi");
    loop.advance(30s);
    EXPECT_EQ(runtime.find("p", "a")->config.linux->resources->memory_limit_in_bytes, 300 << 20);
    EXPECT_EQ(updates(), 2);
    EXPECT_EQ(pod("p").status.resources->limits.at("memory"), Quantity::parse("300Mi").value());
}

TEST_F(KubeletTest, AResizeIsCompletedOnlyOnceTheContainersRunWithIt) {
    add("p", R"({"resources":{"limits":{"memory":"1Gi"}},"containers":[{"name":"a","image":"image:1"},{"name":"b","image":"image:1"}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    runtime.memory = [](const std::string&) { return 64 << 20; };
    const auto shrink_in_vain = [&](const char* memory) {
        api.change<core::Pod>({"default", "p"}, [&](core::Pod& changed) {
            changed.spec.resources->limits["memory"] = Quantity::parse(memory).value();
            ++changed.metadata.generation;
        });
        return until([&] { return objects::find_condition(pod("p").status.conditions, "PodResizeInProgress") != nullptr; });
    };
    ASSERT_TRUE(shrink_in_vain("32Mi"));
    runtime.fault = [](const std::string& method) {
        return method == "CreateContainer" ? std::optional(Error(Reason::Unknown, "no")) : std::nullopt;
    };
    runtime.exit("p", "a", 1);
    runtime.exit("p", "b", 1);
    loop.advance(20s);
    EXPECT_THAT(events("ResizeCompleted"), IsEmpty()) << "the containers are not there";
    EXPECT_NE(objects::find_condition(pod("p").status.conditions, "PodResizeInProgress"), nullptr);
    runtime.fault = nullptr;
    ASSERT_TRUE(until([&] { return runtime.running("p").size() == 2; }, 60s));
    loop.advance(2s);
    EXPECT_EQ(events("ResizeCompleted").size(), 1u);

    ASSERT_TRUE(shrink_in_vain("16Mi"));
    api.remove<core::Pod>({"default", "p"});
    ASSERT_TRUE(until([&] { return !exists("p"); }));
    EXPECT_EQ(events("ResizeCompleted").size(), 1u) << "the pod has ended without";
}

TEST_F(KubeletTest, AResizeOutlivesTheKubelet) {
    add("p", R"({"resources":{"limits":{"memory":"100Mi"}},"containers":[{"name":"a","image":"image:1"},
        {"name":"own","image":"image:1","resources":{"requests":{"cpu":"100m"}}}]})");
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const auto resize = [&](const char* memory, const char* cpu) {
        api.change<core::Pod>({"default", "p"}, [&](core::Pod& changed) {
            changed.spec.resources->limits["memory"] = Quantity::parse(memory).value();
            changed.spec.containers[1].resources.requests["cpu"] = Quantity::parse(cpu).value();
            ++changed.metadata.generation;
        });
    };
    const auto updates = [&] { return std::ranges::count(runtime.calls(), "UpdateContainerResources"); };
    resize("300Mi", "300m");
    loop.advance(10s);
    ASSERT_EQ(events("ResizeCompleted").size(), 1u);
    const core::PodStatus before = pod("p").status;
    const auto made = updates();

    runtime.memory = [](const std::string&) { return 200 << 20; };  // more than it was made with
    stop();
    start();
    loop.advance(60s);
    const core::PodStatus now = pod("p").status;
    EXPECT_EQ(now.resources, before.resources);
    EXPECT_EQ(now.container_statuses[1].resources, before.container_statuses[1].resources);
    EXPECT_EQ(updates(), made);
    EXPECT_EQ(events("ResizeCompleted").size(), 1u);

    stop();
    resize("350Mi", "300m");
    start();
    loop.advance(60s);
    EXPECT_EQ(runtime.find("p", "a")->config.linux->resources->memory_limit_in_bytes, 350 << 20);
    EXPECT_EQ(events("ResizeStarted").size(), 2u);
    EXPECT_EQ(events("ResizeCompleted").size(), 2u);
}

TEST(StatusPatch, NamesWhatHasGoneFromAMap) {
    const Quantity one = Quantity::from_value(1);
    core::PodStatus before, now;
    before.allocated_resources = {{"cpu", one}, {"memory", one}};
    before.resources.emplace().limits = before.allocated_resources;
    now.allocated_resources = {{"cpu", one}};
    now.resources.emplace().limits = now.allocated_resources;
    EXPECT_EQ(status_patch("u", before, now),
              R"({"metadata":{"uid":"u"},"status":{"allocatedResources":{"memory":null},"resources":{"limits":{"memory":null}}}})");
}

TEST_F(KubeletTest, ARuleRestartsAllContainersOfAPod) {
    add("p", R"({"restartPolicy":"Never","initContainers":[{"name":"i","image":"image:1"}],"containers":[
        {"name":"a","image":"image:1","restartPolicy":"Never","restartPolicyRules":[
            {"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[42]}}]},
        {"name":"b","image":"image:1"}]})");
    runtime.behavior = [](const cri::ContainerConfig& config) {
        return config.metadata->name == "i" ? sim::Behavior{.runs_for = 1s} : sim::Behavior{};
    };
    ASSERT_TRUE(until([&] { return ready("p"); }));
    const std::string sandbox = runtime.find("p", "b")->sandbox_id;
    runtime.exit("p", "a", 42);
    ASSERT_TRUE(until([&] { return ready("p") && pod("p").status.container_statuses[1].restart_count == 1; }));
    const core::PodStatus now = pod("p").status;
    EXPECT_EQ(now.init_container_statuses[0].restart_count, 1);
    EXPECT_EQ(now.container_statuses[0].restart_count, 1);
    for (const auto* one : {&now.init_container_statuses[0], &now.container_statuses[0], &now.container_statuses[1]})
        EXPECT_EQ(one->last_state.terminated->reason, "RestartingAllContainers") << one->name;
    EXPECT_EQ(runtime.find("p", "b")->sandbox_id, sandbox);
    EXPECT_EQ(runtime.sandboxes().size(), 1u);

    runtime.exit("p", "a", 1);
    runtime.exit("p", "b", 0);
    ASSERT_TRUE(until([&] { return pod("p").status.phase == "Failed"; })) << "no rule says otherwise";
}

TEST_F(KubeletTest, WhatAPodThatWasRemovedAtOnceAskedForIsFreeForOthers) {
    constexpr const char* Spec =
        R"({"terminationGracePeriodSeconds":20,"containers":[{"name":"a","image":"image:1","resources":{"requests":{"cpu":"3"}}}]})";
    runtime.behavior = [](const cri::ContainerConfig&) { return sim::Behavior{.stops_after = 15s}; };
    add("old", Spec);
    ASSERT_TRUE(until([&] { return ready("old"); }));
    client::DeleteOptions at_once;
    at_once.grace_period_seconds = 0;
    ASSERT_TRUE(porthole::sim::run(loop, client.remove<core::Pod>({"default", "old"}, at_once)));
    loop.advance(1s);
    EXPECT_THAT(runtime.running("old"), ElementsAre("a")) << "it takes its time to end";
    add("new", Spec);
    EXPECT_TRUE(until([&] { return ready("new"); }, 5s)) << pod("new").status.message;
}

}  // namespace
}  // namespace porthole::kubelet
