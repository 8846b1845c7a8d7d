#include "fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/coordination_v1.h"
#include "client/fake/fake_api.h"
#include "fleet/timed_model.h"
#include "objects/conditions.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::fleet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Lease = api::coordination::v1::Lease;

FleetPlanOptions plan_of(std::size_t linux_nodes, std::size_t windows_nodes = 0) {
    FleetPlanOptions options;
    options.linux_nodes = linux_nodes;
    options.windows_nodes = windows_nodes;
    options.addresses = *IpPrefix::parse("198.18.0.0/15");
    options.capacity["cpu"] = Quantity::from_value(4);
    options.capacity["pods"] = Quantity::from_value(110);
    return options;
}

struct FleetTest : testing::Test {
    ~FleetTest() override { stop(); }

    void make(FleetPlanOptions options, PodTimes times = {}, HeartbeatOptions heartbeat = {}) {
        fleet = std::make_unique<Fleet>(client::InformerContext{loop, client, random, Logger(make_null_sink(), "fleet")},
                                        *FleetPlan::create(std::move(options)), heartbeat, std::make_unique<TimedModel>(times));
    }
    void start(FleetPlanOptions options, PodTimes times = {}, HeartbeatOptions heartbeat = {}) {
        make(std::move(options), times, heartbeat);
        ASSERT_TRUE(sim::run(loop, fleet->start()));
        for (const core::Node& node : api.list<core::Node>())
            api.change<core::Node>({"", node.metadata.name}, [&](core::Node& one) { one.spec.pod_cidr = "10.244.0.0/24"; });
        scope.emplace(loop);
        scope->spawn(fleet->run());
        loop.advance(1ms);
    }
    void stop() {
        if (scope) EXPECT_TRUE(sim::run(loop, scope->close()));
        scope.reset();
    }
    void add_pod(const std::string& name, const std::string& node, const std::function<void(core::Pod&)>& change = [](core::Pod&) {}) {
        core::Pod pod;
        pod.metadata.namespace_ = "default";
        pod.metadata.name = name;
        pod.spec.node_name = node;
        pod.spec.restart_policy = "Always";
        pod.status.phase = "Pending";
        auto& container = pod.spec.containers.emplace_back();
        container.name = "main";
        container.image = "app:1";
        change(pod);
        api.put(pod);
    }
    core::Pod pod(const std::string& name) { return *api.find<core::Pod>({"default", name}); }
    std::string phase(const std::string& name) {
        const auto found = api.find<core::Pod>({"default", name});
        return found ? found->status.phase : "gone";
    }
    static void of_job(core::Pod& pod) {
        pod.spec.restart_policy = "Never";
        auto& owner = pod.metadata.owner_references.emplace_back();
        owner.kind = "Job";
        owner.name = "job";
    }
    std::size_t calls(const std::string& method, const std::string& path_part) {
        return static_cast<std::size_t>(std::ranges::count_if(
            api.requests(), [&](const auto& seen) { return seen.method == method && seen.path.find(path_part) != seen.path.npos; }));
    }

    sim::SimLoop loop;
    SeededRandom random{1};
    client::FakeApi api{loop};
    client::Client client{api};
    std::unique_ptr<Fleet> fleet;
    std::optional<Scope> scope;
};

// --- the plan

TEST(FleetPlan, KnowsItsNodesByTheirNames) {
    const auto plan = FleetPlan::create(plan_of(12));
    struct {
        const char* name;
        std::optional<std::size_t> number;
    } const rows[] = {{"fleet-0", 0},   {"fleet-11", 11}, {"fleet-12", {}},
                      {"fleet-", {}},   {"fleet-01", {}}, {"fleet-1x", {}},
                      {"fleet--1", {}}, {"other-1", {}},  {"fleet-99999999999999999999999", {}}};
    for (const auto& row : rows) EXPECT_EQ(plan->find(row.name), row.number) << row.name;
}

TEST(FleetPlan, RefusesWhatNoNodeCanHave) {
    FleetPlanOptions upper = plan_of(1), crowded = plan_of(300), nobody = plan_of(0);
    upper.name_prefix = "Rack-";
    crowded.addresses = *IpPrefix::parse("192.0.2.0/24");
    EXPECT_THAT(FleetPlan::create(upper).error().message, HasSubstr("\"Rack-\" cannot begin the names of nodes"));
    EXPECT_THAT(FleetPlan::create(crowded).error().message, HasSubstr("192.0.2.0/24 has too few addresses for 300 nodes"));
    EXPECT_FALSE(FleetPlan::create(nobody));
}

// --- nodes

TEST_F(FleetTest, RegistersNodesAsAKubeletDoes) {
    start(plan_of(2, 1));
    loop.advance(11s);
    ASSERT_EQ(api.list<core::Node>().size(), 3u);
    const core::Node linux_node = *api.find<core::Node>({"", "fleet-0"}), windows_node = *api.find<core::Node>({"", "fleet-2"});
    EXPECT_EQ(linux_node.metadata.labels.at("kubernetes.io/os"), "linux");
    EXPECT_EQ(linux_node.metadata.labels.at("kubernetes.io/hostname"), "fleet-0");
    EXPECT_EQ(linux_node.metadata.labels.at("porthole.dev/fleet"), "fleet");
    EXPECT_EQ(linux_node.status.capacity.at("cpu").to_string(), "4");
    EXPECT_EQ(linux_node.status.addresses.front().address, "198.18.0.1");
    EXPECT_TRUE(objects::is_ready(linux_node));
    EXPECT_EQ(windows_node.metadata.labels.at("kubernetes.io/os"), "windows");
    EXPECT_EQ(windows_node.metadata.labels.at("node.kubernetes.io/windows-build"), "10.0.20348");
}

TEST_F(FleetTest, RenewsEveryLeaseOnceInTenSecondsSpreadEvenly) {
    start(plan_of(100));
    loop.advance(20s);
    ASSERT_EQ(api.list<Lease>("kube-node-lease").size(), 100u);
    api.clear_requests();
    loop.advance(1s);
    EXPECT_NEAR(static_cast<double>(calls("PUT", "/leases/")), 10, 1);
    loop.advance(9s);
    EXPECT_NEAR(static_cast<double>(calls("PUT", "/leases/")), 100, 1);
    EXPECT_EQ(calls("GET", "/leases/"), 0u) << "the version of the last renewal is known";
    const Lease lease = *api.find<Lease>({"kube-node-lease", "fleet-7"});
    EXPECT_EQ(lease.spec.holder_identity, "fleet-7");
    EXPECT_EQ(lease.spec.lease_duration_seconds, 40);
    EXPECT_EQ(lease.metadata.owner_references.front().uid, api.find<core::Node>({"", "fleet-7"})->metadata.uid);
}

TEST_F(FleetTest, RenewsALeaseThatOthersHaveWrittenOrDeleted) {
    start(plan_of(2));
    loop.advance(15s);
    api.change<Lease>({"kube-node-lease", "fleet-0"}, [](Lease& lease) { lease.metadata.labels["a"] = "b"; });
    api.erase<Lease>({"kube-node-lease", "fleet-1"});
    const auto before = api.find<Lease>({"kube-node-lease", "fleet-0"})->spec.renew_time;
    loop.advance(25s);
    EXPECT_NE(api.find<Lease>({"kube-node-lease", "fleet-0"})->spec.renew_time, before);
    EXPECT_TRUE(api.find<Lease>({"kube-node-lease", "fleet-1"}));
}

TEST_F(FleetTest, ReportsAnUnchangedStatusEveryFiveMinutes) {
    start(plan_of(10));
    loop.advance(15s);  // this API forgets the status of a new node, which is noticed
    api.clear_requests();
    loop.advance(4min);
    EXPECT_EQ(calls("PATCH", "/nodes/"), 0u);
    loop.advance(75s);
    EXPECT_EQ(calls("PATCH", "/nodes/"), 10u);
}

TEST_F(FleetTest, IsReadyAgainSoonAfterItWasTakenForLost) {
    start(plan_of(3));
    loop.advance(10s);
    api.change<core::Node>({"", "fleet-1"}, [](core::Node& node) {
        for (core::NodeCondition& condition : node.status.conditions) condition.status = "Unknown";
    });
    loop.advance(11s);
    EXPECT_TRUE(objects::is_ready(*api.find<core::Node>({"", "fleet-1"})));
}

TEST_F(FleetTest, ANodeThatWasDeletedRegistersAgain) {
    start(plan_of(3));
    loop.advance(10s);
    api.erase<core::Node>({"", "fleet-2"});
    loop.advance(11s);
    EXPECT_TRUE(api.find<core::Node>({"", "fleet-2"}));
}

TEST_F(FleetTest, TakesItsNodesOverWhenItStartsAgainButNotThoseOfOthers) {
    start(plan_of(3));
    const std::string uid = api.find<core::Node>({"", "fleet-0"})->metadata.uid;
    stop();
    start(plan_of(3));
    EXPECT_EQ(api.find<core::Node>({"", "fleet-0"})->metadata.uid, uid);
    stop();
    core::Node foreign;
    foreign.metadata.name = "rack-1";
    api.put(foreign);
    FleetPlanOptions rack = plan_of(3);
    rack.name_prefix = "rack-";
    make(rack);
    const auto refused = sim::run(loop, fleet->start());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("\"rack-1\" already exists and is not of this fleet; choose another --name-prefix"));
}

TEST_F(FleetTest, WaitsForAServerThatIsNotThereYet) {
    api.set_fault([&](const client::ApiRequest&) -> std::optional<Error> {
        if (loop.now() - MonotonicTime() > 20s) return std::nullopt;
        return Error(Reason::Unavailable, "connection refused");
    });
    start(plan_of(5));
    EXPECT_EQ(api.list<core::Node>().size(), 5u);
}

TEST_F(FleetTest, CountsHeartbeatsThatASlowServerMakesItMiss) {
    HeartbeatOptions heartbeat;
    heartbeat.in_flight = 1;
    start(plan_of(20), {}, heartbeat);
    loop.advance(20s);
    EXPECT_EQ(fleet->missed_heartbeats(), 0u);
    api.set_latency(2s);
    loop.advance(60s);
    EXPECT_GT(fleet->missed_heartbeats(), 20u);
}

TEST_F(FleetTest, DeletesItsNodesAtTheEndAndNoOthers) {
    core::Node other;
    other.metadata.name = "other";
    api.put(other);
    start(plan_of(5));
    stop();
    ASSERT_TRUE(sim::run(loop, fleet->remove_nodes()));
    ASSERT_EQ(api.list<core::Node>().size(), 1u);
}

// --- pods

TEST_F(FleetTest, APodRunsAndIsReadyAfterTheSetTime) {
    start(plan_of(2), {.start_after = 5s});
    add_pod("web", "fleet-1");
    loop.advance(4s);
    EXPECT_EQ(phase("web"), "Pending");
    loop.advance(2s);
    const core::Pod web = pod("web");
    EXPECT_EQ(web.status.phase, "Running");
    EXPECT_TRUE(objects::is_condition_true(web.status.conditions, "Ready"));
    EXPECT_EQ(web.status.host_ip, "198.18.0.2");
    EXPECT_EQ(web.status.pod_ip, "10.244.0.2");
    EXPECT_TRUE(web.status.container_statuses.front().ready);
    EXPECT_EQ(fleet->pods().running, 1u);
}

TEST_F(FleetTest, APodWhoseNodeWasTakenForLostIsReadyAgain) {
    start(plan_of(1));
    add_pod("web", "fleet-0");
    loop.advance(3s);
    api.change<core::Pod>({"default", "web"},
                          [](core::Pod& one) { objects::find_condition(one.status.conditions, "Ready")->status = "False"; });
    loop.advance(1s);
    EXPECT_TRUE(objects::is_condition_true(pod("web").status.conditions, "Ready"));
}

TEST_F(FleetTest, PodsOfOtherNodesAreLeftAlone) {
    start(plan_of(2));
    add_pod("elsewhere", "other-1");
    add_pod("nowhere", "");
    loop.advance(1min);
    EXPECT_EQ(phase("elsewhere"), "Pending");
    EXPECT_EQ(phase("nowhere"), "Pending");
    EXPECT_EQ(fleet->pods().assigned, 0u);
}

TEST_F(FleetTest, OneWatchFollowsThePodsOfAllNodes) {
    start(plan_of(50));
    loop.advance(1s);
    EXPECT_EQ(api.open_watches(), 2u) << "pods, and the nodes";
}

TEST_F(FleetTest, APodOfAJobSucceedsAndOthersRunOn) {
    start(plan_of(1), {.start_after = 1s, .complete_after = 10s});
    add_pod("task", "fleet-0", of_job);
    add_pod("web", "fleet-0");
    loop.advance(5s);
    EXPECT_EQ(phase("task"), "Running");
    loop.advance(10s);
    const core::Pod task = pod("task");
    EXPECT_EQ(task.status.phase, "Succeeded");
    ASSERT_TRUE(task.status.container_statuses.front().state.terminated);
    EXPECT_EQ(task.status.container_statuses.front().state.terminated->exit_code, 0);
    EXPECT_EQ(phase("web"), "Running");
}

TEST_F(FleetTest, ADeletedPodEndsWithinItsGracePeriod) {
    struct {
        const char* name;
        std::int64_t grace;
        Duration still_there, gone;
    } const rows[] = {{"stops by itself", 30, 4s, 6s}, {"killed at the end of its grace period", 2, 1s, 3s}};
    start(plan_of(1), {.start_after = 1s, .stop_after = 5s});
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        add_pod("web", "fleet-0");
        loop.advance(3s);
        ASSERT_EQ(phase("web"), "Running");
        api.remove<core::Pod>({"default", "web"}, {.grace_period_seconds = row.grace});
        loop.advance(row.still_there);
        EXPECT_EQ(phase("web"), "Running");
        loop.advance(row.gone - row.still_there);
        EXPECT_EQ(phase("web"), "gone");
    }
    EXPECT_EQ(fleet->pods().assigned, 0u);
}

TEST_F(FleetTest, ADeletedPodIsRemovedOnce) {
    start(plan_of(1));
    add_pod("web", "fleet-0");
    loop.advance(3s);
    ASSERT_EQ(phase("web"), "Running");
    api.remove<core::Pod>({"default", "web"}, {.grace_period_seconds = 30});
    api.clear_requests();
    loop.advance(10s);
    EXPECT_EQ(phase("web"), "gone");
    const auto removals =
        std::ranges::count_if(api.requests(), [](const auto& one) { return one.method == "DELETE" && one.path.ends_with("/pods/web"); });
    EXPECT_EQ(removals, 1);
}

TEST_F(FleetTest, TheLastStatusOfADeletedPodIsThatOfOneEndedBySignal) {
    start(plan_of(1));
    add_pod("web", "fleet-0", [](core::Pod& pod) { pod.metadata.finalizers = {"example.com/look"}; });
    loop.advance(3s);
    api.remove<core::Pod>({"default", "web"}, {.grace_period_seconds = 30});
    loop.advance(3s);
    const core::Pod web = pod("web");
    EXPECT_EQ(web.status.phase, "Failed");
    EXPECT_EQ(web.status.container_statuses.front().state.terminated->exit_code, 143);
}

TEST_F(FleetTest, APodThatNeverStartedIsRemovedAtOnce) {
    start(plan_of(1), {.start_after = 1h});
    add_pod("web", "fleet-0");
    loop.advance(1s);
    api.remove<core::Pod>({"default", "web"}, {.grace_period_seconds = 30});
    loop.advance(1s);
    EXPECT_EQ(phase("web"), "gone");
}

TEST_F(FleetTest, AddressesAreGivenOnceAndComeBack) {
    start(plan_of(1));
    for (const core::Node& node : api.list<core::Node>())
        api.change<core::Node>({"", node.metadata.name}, [](core::Node& one) { one.spec.pod_cidr = "10.244.9.0/29"; });
    loop.advance(1s);
    for (int i = 0; i < 7; ++i) add_pod("p" + std::to_string(i), "fleet-0");
    loop.advance(10s);
    std::set<std::string> addresses;
    for (const core::Pod& one : api.list<core::Pod>())
        if (!one.status.pod_ip.empty()) EXPECT_TRUE(addresses.insert(one.status.pod_ip).second) << one.status.pod_ip;
    EXPECT_EQ(addresses.size(), 5u) << "8 addresses, of which the first two and the last are not for pods";
    EXPECT_EQ(fleet->pods().running, 5u);
    api.remove<core::Pod>({"default", "p0"}, {.grace_period_seconds = 30});
    api.remove<core::Pod>({"default", "p1"}, {.grace_period_seconds = 30});
    loop.advance(10s);
    EXPECT_EQ(fleet->pods().running, 5u) << "the two that had none have those of the two that ended";
}

TEST_F(FleetTest, APodOfTheHostNetworkHasTheNodesAddress) {
    start(plan_of(1));
    add_pod("agent", "fleet-0", [](core::Pod& pod) { pod.spec.host_network = true; });
    loop.advance(3s);
    EXPECT_EQ(pod("agent").status.pod_ip, "198.18.0.1");
}

TEST_F(FleetTest, GoesOnWhereItWasAfterAnotherStart) {
    start(plan_of(1));
    add_pod("a", "fleet-0");
    loop.advance(3s);
    stop();
    start(plan_of(1));
    add_pod("b", "fleet-0");
    loop.advance(3s);
    EXPECT_EQ(fleet->pods().running, 2u);
    EXPECT_EQ(pod("a").status.pod_ip, "10.244.0.2");
    EXPECT_EQ(pod("b").status.pod_ip, "10.244.0.3");
}

TEST_F(FleetTest, TriesAgainWhenAStatusCouldNotBeWritten) {
    start(plan_of(1));
    int failures = 0;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "PATCH" || ++failures > 3) return std::nullopt;
        return Error(Reason::Unavailable, "connection refused");
    });
    add_pod("web", "fleet-0");
    loop.advance(10s);
    EXPECT_EQ(phase("web"), "Running");
}

TEST_F(FleetTest, KeepsTheTextOnlyOfPodsThatHaveSomethingToDo) {
    const char* text = R"({"metadata":{"namespace":"a","name":"b","uid":"u","managedFields":[{"manager":"x"}]},"spec":{"nodeName":"n"},)"
                       R"("status":{"phase":"%s"}})";
    const auto decoded = [&](const char* phase) {
        std::string json = text;
        json.replace(json.find("%s"), 2, phase);
        return *std::static_pointer_cast<const FleetPod>(decode_fleet_pod(json)->object);
    };
    EXPECT_EQ(decoded("Pending").text,
              R"({"metadata":{"namespace":"a","name":"b","uid":"u"},"spec":{"nodeName":"n"},"status":{"phase":"Pending"}})");
    EXPECT_EQ(decoded("Running").text, "");
    EXPECT_FALSE(decode_fleet_pod("[]"));
    EXPECT_FALSE(decode_fleet_pod(R"({"metadata":{}})"));
}

}  // namespace
}  // namespace porthole::fleet
