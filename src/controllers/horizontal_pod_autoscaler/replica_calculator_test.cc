#include "controllers/horizontal_pod_autoscaler/replica_calculator.h"

#include <gtest/gtest.h>

namespace porthole::controllers {
namespace {

using namespace std::chrono_literals;
using api::core::v1::Pod;

const SystemTime Now = Timestamp::from_seconds(1'700'000'000).to_system_time();

/// A pod that requests a whole processor and has been ready for an hour.
Pod ready_pod(const std::string& name) {
    Pod pod;
    pod.metadata.name = name;
    auto& container = pod.spec.containers.emplace_back();
    container.name = "c";
    container.resources.requests["cpu"] = Quantity::from_value(1);
    pod.status.phase = "Running";
    pod.status.start_time = Timestamp(Now - 1h);
    pod.status.conditions.push_back({.type = "Ready", .status = "True", .last_transition_time = Timestamp(Now - 1h)});
    return pod;
}

PodMetric metric(std::int64_t value) { return {.time = Timestamp(Now), .window = 15s, .value = value}; }

/// As many ready pods as there are numbers, each of which is what one uses in thousandths of a processor; -1: unknown; -2: the pod is
/// pending.
struct World {
    PodList pods;
    PodMetricValues metrics;

    explicit World(const std::vector<std::int64_t>& used) {
        for (std::size_t i = 0; i < used.size(); ++i) {
            pods.push_back(ready_pod("p" + std::to_string(i)));
            if (used[i] >= 0) metrics[pods.back().metadata.name] = metric(used[i]);
            if (used[i] == -2) pods.back().status.phase = "Pending";
        }
    }
    PodGroups groups(const std::string& resource = "cpu") const { return group_pods(pods, metrics, resource, StartRules(), Now); }
    Result<Proposal> by_utilization(std::int32_t target, Tolerances tolerances = {}) const {
        const auto requests = requests_of(pods, "cpu", "");
        if (!requests) return requests.error();
        return propose_by_utilization(static_cast<std::int32_t>(pods.size()), pods, groups(), metrics, *requests, target, tolerances);
    }
    Result<Proposal> by_average(std::int64_t target) const {
        return propose_by_average(static_cast<std::int32_t>(pods.size()), pods, groups(""), metrics, target, {});
    }
};

TEST(ReplicaCalculator, UtilizationCallsForPodsInProportion) {
    struct {
        const char* name;
        std::vector<std::int64_t> used;
        std::int32_t target, replicas, utilization;
    } const rows[] = {
        {"more", {300, 500, 700}, 30, 5, 50},
        {"as many", {300, 500, 700}, 50, 3, 50},
        {"fewer", {100, 300, 500, 250, 250}, 50, 3, 28},
        {"within the tolerance above", {1010, 1030, 1020}, 100, 3, 102},
        {"within the tolerance below", {990, 950, 920}, 100, 3, 95},
        {"just outside of it", {1120, 1120, 1120}, 100, 4, 112},
        {"nothing used", {0, 0, 0}, 50, 0, 0},
        {"unknown pods count as idle when there are too few", {400, 950, -1}, 30, 5, 67},
        {"but do not turn the change around", {300, 500, -1, -1}, 30, 4, 40},
        {"unknown pods count as busy when there are too many", {400, 950, -1}, 100, 3, 67},
        {"and can hold a change back", {700, -1}, 80, 2, 70},
        {"unknown pods use the target when it is above their request", {100, 100, -1}, 200, 2, 10},
        {"pending pods count as idle when there are too few", {300, 500, 700, -2}, 30, 5, 50},
        {"and are left out when there are too many", {100, 100, 100, -2}, 50, 1, 10},
        {"and can hold a change back, too", {400, -2, -2}, 30, 3, 40},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto proposal = World(row.used).by_utilization(row.target);
        ASSERT_TRUE(proposal) << proposal.error().message;
        EXPECT_EQ(proposal->replicas, row.replicas);
        EXPECT_EQ(proposal->utilization, row.utilization);
    }
}

TEST(ReplicaCalculator, AveragesCallForPodsInProportion) {
    struct {
        const char* name;
        std::vector<std::int64_t> used;
        std::int64_t target;
        std::int32_t replicas;
        std::int64_t usage;
    } const rows[] = {
        {"more", {20000, 10000, 30000}, 15000, 4, 20000},
        {"as many", {20000, 10000, 30000}, 20000, 3, 20000},
        {"fewer", {12000, 12000, 12000, 12000, 12000}, 20000, 3, 12000},
        {"unknown pods count as idle when there are too few", {30000, -1}, 15000, 2, 30000},
        {"and are on target when there are too many", {10000, -1, -1}, 20000, 3, 10000},
        {"pods that are not ready count as well", {50000, 50000, -2}, 15000, 7, 50000},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto proposal = World(row.used).by_average(row.target);
        ASSERT_TRUE(proposal) << proposal.error().message;
        EXPECT_EQ(proposal->replicas, row.replicas);
        EXPECT_EQ(proposal->usage, row.usage);
    }
}

TEST(ReplicaCalculator, SaysWhatItLacks) {
    EXPECT_EQ(World({}).by_utilization(50).error().message, "no pods returned by selector while calculating replica count");
    EXPECT_EQ(World({-1, -1}).by_utilization(50).error().message, "did not receive metrics for targeted pods (pods might be unready)");
    World unlimited({100});
    unlimited.pods[0].spec.containers[0].resources.requests.clear();
    EXPECT_EQ(unlimited.by_utilization(50).error().message, "missing request for cpu in container c of Pod p0");
    World idle({100});
    idle.pods[0].spec.containers[0].resources.requests["cpu"] = Quantity();
    EXPECT_EQ(idle.by_utilization(50).error().message, "no metrics returned matched known pods");
}

TEST(ReplicaCalculator, TolerancesCanDifferByDirection) {
    EXPECT_EQ(World({130, 130}).by_utilization(10, {.scale_up = 0.5})->replicas, 2);
    EXPECT_EQ(World({130, 130}).by_utilization(10, {.scale_up = 0.2})->replicas, 3);
    EXPECT_EQ(World({70, 70}).by_utilization(10, {.scale_down = 0.5})->replicas, 2);
    EXPECT_EQ(World({40, 40}).by_utilization(10, {.scale_down = 0.5})->replicas, 1);
}

TEST(ReplicaCalculator, ProcessorTimeOfStartingPodsIsNotBelieved) {
    struct {
        const char* name;
        Duration started, changed, measured;  ///< ago
        const char* ready;
        bool counts;
    } const rows[] = {
        {"ready for long", 1h, 1h, 0s, "True", true},
        {"young and ready for a window", 2min, 1min, 0s, "True", true},
        {"young, measured before it was ready", 2min, 20s, 10s, "True", false},
        {"young and not ready", 2min, 1min, 0s, "False", false},
        {"old and never ready", 1h, 1h - 10s, 0s, "False", false},
        {"old, and was ready once", 1h, 10min, 0s, "False", true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        World world({500});
        world.pods[0].status.start_time = Timestamp(Now - row.started);
        world.pods[0].status.conditions = {{.type = "Ready", .status = row.ready, .last_transition_time = Timestamp(Now - row.changed)}};
        world.metrics["p0"].time = Timestamp(Now - row.measured);
        EXPECT_EQ(world.groups("cpu").ready, row.counts ? 1 : 0);
        EXPECT_EQ(world.groups("memory").ready, 1) << "only processor time is peculiar";
    }
    World unknown({500});
    unknown.pods[0].status.conditions.clear();
    EXPECT_EQ(unknown.groups().unready.size(), 1u);
}

TEST(ReplicaCalculator, PodsThatGoDoNotCount) {
    World world({100, 900, 900});
    world.pods[1].metadata.deletion_timestamp = Timestamp(Now);
    world.pods[2].status.phase = "Failed";
    EXPECT_EQ(world.groups().ignored.size(), 2u);
    EXPECT_EQ(world.by_utilization(50)->utilization, 10);
}

TEST(ReplicaCalculator, RequestsAreThoseOfThePodOrOneContainer) {
    PodList pods{ready_pod("p")};
    auto& spec = pods[0].spec;
    auto& sidecar = spec.init_containers.emplace_back();
    sidecar.name = "s";
    sidecar.restart_policy = "Always";
    sidecar.resources.requests["cpu"] = Quantity::from_milli(500);
    spec.init_containers.emplace_back().name = "init";
    EXPECT_EQ(requests_of(pods, "cpu", "")->at("p"), 1500);
    EXPECT_EQ(requests_of(pods, "cpu", "c")->at("p"), 1000);
    spec.resources.emplace().requests["cpu"] = Quantity::from_value(2);
    EXPECT_EQ(requests_of(pods, "cpu", "")->at("p"), 2000);
}

TEST(ReplicaCalculator, ValuesCallForReadyPodsInProportion) {
    const World world({1, 1, -2});
    EXPECT_EQ(propose_by_value(3, world.pods, 40000, 10000, {})->replicas, 8) << "of two that are ready";
    EXPECT_EQ(propose_by_value(3, world.pods, 10500, 10000, {})->replicas, 3);
    EXPECT_EQ(propose_by_value(0, {}, 2500, 1000, {})->replicas, 3) << "from zero";
    EXPECT_FALSE(propose_by_value(3, {}, 40000, 10000, {}));
}

TEST(ReplicaCalculator, SharesCallForPodsByTheWhole) {
    EXPECT_EQ(propose_by_share(3, 8600, 2150, {}).replicas, 4);
    EXPECT_EQ(propose_by_share(3, 8600, 2150, {}).usage, 2867);
    EXPECT_EQ(propose_by_share(4, 8600, 2150, {}).replicas, 4);
    EXPECT_EQ(propose_by_share(0, 8600, 2150, {}).replicas, 4) << "from zero";
}

TEST(ReplicaCalculator, AbsurdMetricsStayNumbers) {
    const World huge({INT64_MAX, INT64_MAX, INT64_MAX});
    EXPECT_EQ(huge.by_average(1)->replicas, INT32_MAX);
    EXPECT_EQ(huge.by_utilization(1)->replicas, INT32_MAX);
    EXPECT_EQ(propose_by_value(1, huge.pods, INT64_MAX, 1, {})->replicas, INT32_MAX);
    EXPECT_EQ(propose_by_share(3, INT64_MAX, 1, {}).replicas, INT32_MAX);
    World timeless({1});
    timeless.pods[0].status.start_time = Timestamp::from_ticks(INT64_MAX / 1'000'000'000);
    timeless.metrics["p0"].window = Duration::max();
    EXPECT_EQ(timeless.groups().unready.size(), 1u);
    timeless.pods[0].status.start_time = *Timestamp::parse("0001-01-01T00:00:00Z");
    EXPECT_EQ(timeless.groups().ready, 1);
    World negative({1});
    negative.metrics["p0"].value = INT64_MIN;
    EXPECT_EQ(negative.by_average(1)->replicas, 0);
}

}  // namespace
}  // namespace porthole::controllers
