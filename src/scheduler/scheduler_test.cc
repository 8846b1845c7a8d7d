#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "api/resource_v1.h"
#include "api/storage_v1.h"
#include "objects/pods.h"
#include "scheduler/metrics.h"
#include "scheduler/running_scheduler_fixture.h"
#include "schema/json/json.h"

namespace porthole::scheduler {
namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;
using testing::api_node;
using testing::api_pod;

core::PersistentVolumeClaim claim_of_class(const std::string& name) {
    core::PersistentVolumeClaim claim;
    claim.metadata.namespace_ = "default";
    claim.metadata.name = "data";
    claim.spec.storage_class_name = name;
    return claim;
}

core::Pod pod_with_claim(const std::string& name) {
    core::Pod pod = api_pod(name);
    pod.spec.volumes.resize(1);
    pod.spec.volumes[0].name = "data";
    pod.spec.volumes[0].persistent_volume_claim.emplace().claim_name = "data";
    return pod;
}

struct SchedulerWorld : testing::RunningScheduler {
    explicit SchedulerWorld(Configuration configuration = {}) : RunningScheduler(std::move(configuration)) {
        api::storage::v1::StorageClass late;
        late.metadata.name = "late";
        late.provisioner = "example.com/disks";
        late.volume_binding_mode = "WaitForFirstConsumer";
        api.put(late);
    }
    /// As the volume controller does it.
    void bind_claim() {
        core::PersistentVolume volume;
        volume.metadata.name = "v1";
        api.put(volume);
        api.change<core::PersistentVolumeClaim>({"default", "data"}, [](core::PersistentVolumeClaim& bound) {
            bound.spec.volume_name = "v1";
            bound.status.phase = "Bound";
        });
        loop.advance(1s);
    }
};

TEST(Scheduler, BindsPodsAndTellsSo) {
    SchedulerWorld world;
    world.api.put(api_node("n1"));
    world.api.put(api_pod("web"));
    world.loop.advance(1s);
    EXPECT_EQ(world.node_of("web"), "n1");
    EXPECT_EQ(world.event_of("web", "Scheduled"), "Normal: Successfully assigned default/web to n1");
    EXPECT_EQ(world.scheduler.counts().scheduled, 1u);
    EXPECT_NE(
        metrics_text(world.scheduler).find("scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1\n"),
        std::string::npos);
}

TEST(Scheduler, LeavesOtherSchedulersPodsAndGatedOnesAlone) {
    SchedulerWorld world;
    world.api.put(api_node("n1"));
    core::Pod foreign = api_pod("foreign"), gated = api_pod("gated");
    foreign.spec.scheduler_name = "mine";
    gated.spec.scheduling_gates = {{.name = "wait"}};
    world.api.put(foreign);
    world.api.put(gated);
    world.loop.advance(1min);
    EXPECT_EQ(world.node_of("foreign"), "");
    EXPECT_EQ(world.node_of("gated"), "");
    world.api.change<core::Pod>({"default", "gated"}, [](core::Pod& pod) { pod.spec.scheduling_gates.clear(); });
    world.loop.advance(1s);
    EXPECT_EQ(world.node_of("gated"), "n1");
}

TEST(Scheduler, PlacesThePodsOfEachProfileUnderItsName) {
    Configuration configuration;
    configuration.profiles.resize(2);
    configuration.profiles[1].scheduler_name = "packing";
    configuration.profiles[1].arguments["NodeResourcesFit"] =
        schema::parse_json(R"({"scoringStrategy": {"type": "MostAllocated"}})").value();
    SchedulerWorld world(std::move(configuration));
    world.api.put(api_node("n1", "8"));
    world.api.put(api_node("n2", "8"));
    world.api.put(api_pod("first", "4"));
    world.loop.advance(1s);
    core::Pod packed = api_pod("packed", "1"), too_large = api_pod("large", "9");
    packed.spec.scheduler_name = too_large.spec.scheduler_name = "packing";
    world.api.put(packed);
    world.api.put(too_large);
    world.api.put(api_pod("spread", "1"));
    world.loop.advance(5s);
    EXPECT_EQ(world.node_of("packed"), world.node_of("first"));
    EXPECT_NE(world.node_of("spread"), world.node_of("first"));

    std::set<std::string> told;
    for (const auto& event : world.api.list<core::Event>())
        told.insert(event.involved_object.name + " " + event.reason + " " + event.source.component);
    EXPECT_TRUE(told.contains("packed Scheduled packing"));
    EXPECT_TRUE(told.contains("large FailedScheduling packing"));
    EXPECT_TRUE(told.contains("spread Scheduled default-scheduler"));
    EXPECT_NE(metrics_text(world.scheduler).find("scheduler_schedule_attempts_total{profile=\"packing\",result=\"scheduled\"} 1\n"),
              std::string::npos);
}

TEST(Scheduler, SaysWhyAPodFitsNowhereAndTriesAgainWhenThatChanges) {
    SchedulerWorld world;
    world.api.put(api_pod("web", "2"));
    world.loop.advance(1s);
    EXPECT_EQ(world.why_not("web"), "Unschedulable: no nodes available to schedule pods");
    world.api.put(api_node("small", "1"));
    world.loop.advance(10s);
    const std::string reason =
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is "
        "not helpful for scheduling.";
    EXPECT_EQ(world.why_not("web"), "Unschedulable: " + reason);
    EXPECT_EQ(world.event_of("web", "FailedScheduling").substr(0, 9), "Warning: ");
    world.api.change<core::Node>({"", "small"}, [](core::Node& node) { node.status.allocatable["cpu"] = Quantity::from_value(3); });
    world.loop.advance(11s);
    EXPECT_EQ(world.node_of("web"), "small");
}

/// Nothing is written then, so no watch event wakes the scheduler.
TEST(Scheduler, TriesAPodAgainAfterFiveMinutesAlsoIfItsConditionSaysTheReasonAlready) {
    SchedulerWorld world;
    core::Pod pod = api_pod("web");
    core::PodCondition& known = pod.status.conditions.emplace_back();
    known.type = "PodScheduled";
    known.status = "False";
    known.reason = "Unschedulable";
    known.message = "no nodes available to schedule pods";
    world.api.put(pod);
    world.loop.advance(1s);
    EXPECT_EQ(world.scheduler.counts().unschedulable, 1u);
    world.loop.advance(5min);
    EXPECT_EQ(world.scheduler.counts().unschedulable, 2u);
    world.loop.advance(5min);
    EXPECT_EQ(world.scheduler.counts().unschedulable, 3u);
}

core::Node node_of_system(const std::string& name, const char* system, const char* build = "") {
    core::Node node = api_node(name);
    node.metadata.labels["kubernetes.io/os"] = system;
    if (*build) node.metadata.labels["node.kubernetes.io/windows-build"] = build;
    return node;
}

// SCH-14
TEST(Scheduler, SaysWhatTheWindowsTableKnowsOfAPodAfterItsOwnReasons) {
    constexpr const char* Selector =
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/2 nodes "
        "are available: 2 Preemption "
        "is "
        "not helpful for scheduling. ";
    constexpr const char* Tainted =
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s). no new claims "
        "to deallocate, preemption: 0/2 "
        "nodes are available: 2 Preemption is not helpful for scheduling. ";
    constexpr const char* Huge =
        "0/2 nodes are available: 1 Insufficient hugepages-2Mi, 1 node(s) didn't match Pod's node affinity/selector. no new claims to "
        "deallocate, preemption: 0/2 nodes "
        "are available: 2 Preemption is not helpful for scheduling. ";
    using Change = std::function<void(core::Pod&, core::Node&)>;
    struct {
        const char* name;
        std::map<std::string, std::string> selector;
        Change change;
        const char* upstream;
        const char* ours;
    } const rows[] = {
        {"another build",
         {{"kubernetes.io/os", "windows"}, {"node.kubernetes.io/windows-build", "10.0.17763"}},
         {},
         Selector,
         "spec.nodeSelector[node.kubernetes.io/windows-build]: asks for a build of Windows that no node has; write one that kubectl get "
         "nodes "
         "-L node.kubernetes.io/windows-build shows, and use images of that build (see docs/guide/windows_support.md#win605)."},
        {"capital letters",
         {{"kubernetes.io/os", "Windows"}},
         {},
         Selector,
         "spec.nodeSelector[kubernetes.io/os]: has capital letters, and label values are case-sensitive: no node has such a label; "
         "write windows or linux (see docs/guide/windows_support.md#win603)."},
        {"no Windows node",
         {{"kubernetes.io/os", "windows"}},
         [](core::Pod&, core::Node& node) { node.metadata.labels["kubernetes.io/os"] = "linux"; },
         Selector,
         "spec.nodeSelector: asks for Windows, and the cluster has no Windows node; join a Windows node, or select a system that the nodes "
         "have (see docs/guide/windows_support.md#win604)."},
        {"taint",
         {{"kubernetes.io/os", "windows"}},
         [](core::Pod&, core::Node& node) { node.spec.taints = {{.key = "os", .value = "windows", .effect = "NoSchedule"}}; },
         Tainted,
         "spec.tolerations: do not tolerate every taint of the Windows nodes; add a toleration for the taint that kubectl describe node "
         "shows, "
         "or name a RuntimeClass that has it (see docs/guide/windows_support.md#win606)."},
        {"huge pages",
         {{"kubernetes.io/os", "windows"}},
         [](core::Pod& pod, core::Node&) { pod.spec.containers[0].resources.requests["hugepages-2Mi"] = Quantity::from_value(2 << 20); },
         Huge,
         "spec.containers[0].resources: Windows nodes have no huge pages; remove hugepages- from requests and limits (see "
         "docs/guide/windows_support.md#win504)."},
        {"a Linux pod",
         {{"kubernetes.io/os", "linux"}, {"disk", "ssd"}},
         [](core::Pod&, core::Node& node) { node.spec.taints = {{.key = "os", .value = "windows", .effect = "NoSchedule"}}; },
         nullptr,
         ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        SchedulerWorld world;
        core::Node windows = node_of_system("windows-1", "windows", "10.0.20348");
        core::Pod pod = api_pod("web");
        pod.spec.node_selector = row.selector;
        if (row.change) row.change(pod, windows);
        world.api.put(windows);
        world.api.put(node_of_system("linux-1", "linux"));
        world.api.put(pod);
        world.loop.advance(1s);
        if (!row.upstream) {
            EXPECT_TRUE(world.why_not("web").ends_with("Preemption is not helpful for scheduling.")) << world.why_not("web");
            continue;
        }
        EXPECT_EQ(world.why_not("web"), "Unschedulable: " + std::string(row.upstream) + row.ours);
        EXPECT_EQ(world.event_of("web", "FailedScheduling"), "Warning: " + std::string(row.upstream) + row.ours);
    }
}

// SCH-05, SCH-14
TEST(Scheduler, APodWithoutASystemIsToldToNameOneWhereATaintOfWindowsNodesStopsIt) {
    SchedulerWorld world;
    core::Node windows = node_of_system("windows-1", "windows");
    windows.spec.taints = {{.key = "os", .value = "windows", .effect = "NoSchedule"}};
    core::Node full = node_of_system("linux-1", "linux");
    full.status.allocatable["cpu"] = Quantity::from_value(0);
    world.api.put(windows);
    world.api.put(full);
    world.api.put(api_pod("web"));
    world.loop.advance(1s);
    EXPECT_TRUE(world.why_not("web").ends_with(
        "spec.os: no operating system is given, so the pod may land on a Linux or a Windows node; set "
        "spec.os.name and nodeSelector[\"kubernetes.io/os\"] to linux or windows (see docs/guide/windows_support.md#win601)."))
        << world.why_not("web");
    world.api.change<core::Node>(
        {"", "windows-1"}, [](core::Node& node) { node.spec.taints = {{.key = "node.kubernetes.io/not-ready", .effect = "NoSchedule"}}; });
    world.loop.advance(10min);
    EXPECT_TRUE(world.why_not("web").ends_with("Preemption is not helpful for scheduling.")) << "a node that is not ready will be again";
}

// SCH-14
TEST(Scheduler, APodWithoutASystemIsToldOfTaintsOfWindowsNodesOnlyWhereItWaitsForThem) {
    const core::Toleration of_linux{.key = "os", .operator_ = "Equal", .value = "linux", .effect = "NoSchedule"};
    struct {
        const char* name;
        std::function<void(core::Pod&, core::Node&)> change;
    } const rows[] = {
        {"it selects what no Windows node has", [](core::Pod& pod, core::Node&) { pod.spec.node_selector["disk"] = "ssd"; }},
        {"it is for Linux, as its toleration says", [&](core::Pod& pod, core::Node&) { pod.spec.tolerations = {of_linux}; }},
        {"the Windows node is closed to all pods", [](core::Pod&, core::Node& windows) { windows.spec.unschedulable = true; }},
        {"its volume does not exist",
         [](core::Pod& pod, core::Node&) {
             core::Volume volume{.name = "data"};
             volume.persistent_volume_claim.emplace().claim_name = "missing";
             pod.spec.volumes = {volume};
         }},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        SchedulerWorld world;
        core::Node windows = node_of_system("windows-1", "windows"), full = node_of_system("linux-1", "linux");
        windows.spec.taints = {{.key = "os", .value = "windows", .effect = "NoSchedule"}};
        full.metadata.labels["disk"] = "ssd";
        full.status.allocatable["cpu"] = Quantity::from_value(0);
        core::Pod pod = api_pod("web");
        row.change(pod, windows);
        world.api.put(windows);
        world.api.put(full);
        world.api.put(pod);
        world.loop.advance(1s);
        EXPECT_THAT(world.why_not("web"), ::testing::StartsWith("Unschedulable: "));
        EXPECT_THAT(world.why_not("web"), ::testing::Not(::testing::HasSubstr("win601")));
    }
}

TEST(Scheduler, FillsANodeNoFurtherThanItsAllocatable) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "1"));
    for (int i = 0; i < 12; ++i) world.api.put(api_pod("p" + std::to_string(i), "100m"));
    world.loop.advance(5s);
    int bound = 0;
    std::string waiting;
    for (int i = 0; i < 12; ++i) world.node_of("p" + std::to_string(i)) == "n1" ? ++bound : (waiting = "p" + std::to_string(i), 0);
    EXPECT_EQ(bound, 10);
    world.api.erase<core::Pod>({"default", "p0"});
    world.api.erase<core::Pod>({"default", "p1"});
    world.loop.advance(11s);
    EXPECT_EQ(world.node_of(waiting), "n1");
}

TEST(Scheduler, TakesAFailedBindingBackAndTriesAgain) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "1"));
    int refused = 0;
    world.api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (!request.path.ends_with("/binding") || refused++ > 0) return std::nullopt;
        return Error(Reason::InternalError, "disk full");
    });
    world.api.put(api_pod("web", "1"));
    world.loop.advance(500ms);
    EXPECT_EQ(world.node_of("web"), "");
    EXPECT_EQ(world.why_not("web"), "SchedulerError: binding rejected: disk full");
    world.loop.advance(2s);
    EXPECT_EQ(world.node_of("web"), "n1");
}

TEST(Scheduler, MakesRoomForMoreImportantPods) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "1"));
    world.api.put(api_pod("low", "800m"));
    world.loop.advance(1s);
    ASSERT_EQ(world.node_of("low"), "n1");
    core::Pod high = api_pod("high", "800m");
    high.spec.priority = 1000;
    world.api.put(high);
    world.loop.advance(200ms);
    EXPECT_EQ(world.api.find<core::Pod>({"default", "high"})->status.nominated_node_name, "n1");
    world.loop.advance(15s);
    world.api.erase<core::Pod>({"default", "low"});
    world.loop.advance(15s);
    EXPECT_EQ(world.node_of("high"), "n1");
    EXPECT_EQ(world.event_of("low", "Preempted").substr(0, 25), "Normal: Preempted by pod ");
}

/// A node with one CPU, on which "low" is ending to make room for "high".
struct NominationWorld : SchedulerWorld {
    NominationWorld() {
        api.put(api_node("n1", "1"));
        core::Pod low = api_pod("low", "800m");
        low.metadata.finalizers = {"example.com/wait"};
        api.put(low);
        loop.advance(1s);
        put("high", "800m", 1000);
        EXPECT_EQ(nominated("high"), "n1");
        EXPECT_TRUE(api.find<core::Pod>({"default", "low"})->metadata.deletion_timestamp);
    }
    void put(const std::string& name, const char* cpu, std::int32_t priority, const std::string& node = "") {
        core::Pod pod = api_pod(name, cpu);
        pod.spec.priority = priority;
        pod.spec.node_name = node;
        api.put(pod);
        loop.advance(1s);
    }
    std::string nominated(const std::string& name) { return api.find<core::Pod>({"default", name})->status.nominated_node_name; }
};

TEST(Scheduler, RoomThatWasKeptForAPodIsFreeWhenAMoreImportantOneIsToHaveIt) {
    NominationWorld world;
    world.put("highest", "800m", 2000);
    EXPECT_EQ(world.nominated("highest"), "n1");
    EXPECT_EQ(world.nominated("high"), "");
    world.api.erase<core::Pod>({"default", "low"});
    world.loop.advance(15s);
    EXPECT_EQ(world.node_of("highest"), "n1");
    EXPECT_EQ(world.node_of("high"), "");
    world.put("small", "100m", 0);
    EXPECT_EQ(world.node_of("small"), "n1") << "nothing is kept there for the other one";
}

TEST(Scheduler, RoomIsNoLongerKeptForAPodForWhichNoneCanBeMade) {
    NominationWorld world;
    world.put("other", "800m", 2000, "n1");  // by hand
    world.api.erase<core::Pod>({"default", "low"});
    world.loop.advance(15s);
    EXPECT_EQ(world.node_of("high"), "");
    EXPECT_EQ(world.nominated("high"), "");
    world.put("small", "100m", 0);
    EXPECT_EQ(world.node_of("small"), "n1");
}

TEST(Scheduler, RoomIsFreeAtOnceWhenThePodIsGoneForWhichItWasKept) {
    NominationWorld world;
    world.put("small", "100m", 0);
    EXPECT_EQ(world.node_of("small"), "");
    world.loop.advance(15s);
    world.api.erase<core::Pod>({"default", "high"});
    world.loop.advance(1s);
    EXPECT_EQ(world.node_of("small"), "n1");
}

TEST(Scheduler, KeepsRoomForAPodWhoseStatusDoesNotSaySoYet) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "1"));
    core::Pod low = api_pod("low", "800m");
    low.metadata.finalizers = {"example.com/wait"};
    world.api.put(low);
    world.loop.advance(1s);
    world.api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (!request.path.ends_with("/pods/high/status")) return std::nullopt;
        return Error(Reason::InternalError, "disk full");
    });
    core::Pod high = api_pod("high", "800m");
    high.spec.priority = 1000;
    world.api.put(high);
    world.loop.advance(1s);
    world.api.change<core::Pod>({"default", "high"}, [](core::Pod& pod) { pod.metadata.annotations["a"] = "b"; });
    world.api.put(api_pod("small", "100m"));
    world.loop.advance(1s);
    EXPECT_EQ(world.node_of("small"), "");
}

TEST(Scheduler, TriesAgainWhenAVictimCannotBeDeleted) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "1"));
    world.api.put(api_pod("low", "800m"));
    world.loop.advance(1s);
    int refused = 0;
    world.api.set_latency(10ms);
    world.api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "DELETE" || refused++ > 0) return std::nullopt;
        return Error(Reason::InternalError, "disk full");
    });
    core::Pod high = api_pod("high", "800m");
    high.spec.priority = 1000;
    world.api.put(high);
    world.loop.advance(15s);
    EXPECT_EQ(refused, 2);
    EXPECT_TRUE(world.api.find<core::Pod>({"default", "low"})->metadata.deletion_timestamp);
}

TEST(Scheduler, SaysSinceWhenAPodWaitsAndOfWhichGeneration) {
    SchedulerWorld world;
    core::Pod pod = api_pod("web");
    world.api.put(pod);
    world.loop.advance(1s);
    EXPECT_EQ(world.why_not("web"), "Unschedulable: no nodes available to schedule pods");
    const auto condition = [&] {
        return *objects::find_condition(world.api.find<core::Pod>({"default", "web"})->status.conditions, "PodScheduled");
    };
    const core::PodCondition first = condition();
    EXPECT_EQ(first.observed_generation, world.api.find<core::Pod>({"default", "web"})->metadata.generation);
    world.loop.advance(10s);
    world.api.put(api_node("n1", "1m"));
    world.loop.advance(1s);
    EXPECT_NE(condition().message, first.message);
    EXPECT_EQ(condition().last_transition_time, first.last_transition_time);
}

TEST(Scheduler, AnObjectOfThatNameMayBeAnotherPod) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "1"));
    world.api.put(api_pod("web", "800m"));
    world.loop.advance(1s);
    ASSERT_EQ(world.node_of("web"), "n1");
    world.api.expire_watches();  // so that no one is told that it was deleted
    world.api.erase<core::Pod>({"default", "web"});
    world.api.put(api_pod("web", "800m"));
    world.loop.advance(30s);
    EXPECT_EQ(world.node_of("web"), "n1");
}

TEST(Scheduler, AChangeOfAPodCountsThatComesWhileItIsBound) {
    SchedulerWorld world;
    world.api.put(api_node("n1"));
    world.api.put(claim_of_class("late"));
    world.api.put(pod_with_claim("web"));
    world.loop.advance(1s);
    const auto selected = [&] {
        return world.api.find<core::PersistentVolumeClaim>({"default", "data"})->metadata.annotations["volume.kubernetes.io/selected-node"];
    };
    ASSERT_EQ(selected(), "n1");
    world.api.put(api_node("n2", "200m"));  // which is the worse one
    world.api.change<core::Pod>({"default", "web"}, [](core::Pod& pod) { pod.spec.node_selector = {{"kubernetes.io/hostname", "n2"}}; });
    world.loop.advance(1s);
    world.api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (!request.path.ends_with("/pods/web/status")) return std::nullopt;
        return Error(Reason::InternalError, "disk full");
    });
    // As a provisioner does that has no room there.
    world.api.change<core::PersistentVolumeClaim>({"default", "data"},
                                                  [](core::PersistentVolumeClaim& claim) { claim.metadata.annotations.clear(); });
    world.loop.advance(10s);
    EXPECT_EQ(selected(), "n2");
}

TEST(Scheduler, ANodeThatGoesMayTakeADomainWithIt) {
    SchedulerWorld world;
    for (const char* name : {"n1", "n2"}) {
        core::Node node = api_node(name);
        node.metadata.labels["zone"] = name;
        node.spec.unschedulable = std::string(name) == "n2";
        world.api.put(node);
    }
    const auto put = [&](const std::string& name) {
        core::Pod pod = api_pod(name);
        pod.metadata.labels = {{"app", "web"}};
        auto& spread = pod.spec.topology_spread_constraints.emplace_back();
        spread.max_skew = 1;
        spread.topology_key = "zone";
        spread.when_unsatisfiable = "DoNotSchedule";
        spread.label_selector.emplace().match_labels = pod.metadata.labels;
        world.api.put(pod);
        world.loop.advance(1s);
    };
    put("web-1");
    EXPECT_EQ(world.node_of("web-1"), "n1");
    put("web-2");
    EXPECT_EQ(world.node_of("web-2"), "");
    world.loop.advance(15s);
    world.api.erase<core::Node>({"", "n2"});
    world.loop.advance(1s);
    EXPECT_EQ(world.node_of("web-2"), "n1");
}

TEST(Scheduler, TriesAPodThatIsAtFaultAgainWhenSomethingChanges) {
    using namespace api::resource::v1;
    SchedulerWorld world;
    const auto put_slice = [&](const char* attribute, int generation) {
        ResourceSlice slice;
        slice.metadata.name = "s" + std::to_string(generation);
        slice.spec.driver = "d";
        slice.spec.node_name = "n1";
        slice.spec.pool = {.name = "p", .generation = generation, .resource_slice_count = 1};
        Device& device = slice.spec.devices.emplace_back();
        device.name = "one";
        device.attributes[attribute].bool_ = true;
        world.api.put(slice);
    };
    world.api.put(api_node("n1"));
    DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.spec.selectors.emplace_back().cel.emplace().expression = "device.attributes['d'].there";
    world.api.put(gpu);
    put_slice("other", 1);
    ResourceClaim claim;
    claim.metadata.namespace_ = "default";
    claim.metadata.name = "c";
    auto& request = claim.spec.devices.requests.emplace_back();
    request.name = "r";
    auto& wanted = request.exactly.emplace();
    wanted.device_class_name = "gpu";
    wanted.allocation_mode = "ExactCount";
    wanted.count = 1;
    world.api.put(claim);
    core::Pod pod = api_pod("web");
    pod.spec.resource_claims.emplace_back().name = "dev";
    pod.spec.resource_claims.back().resource_claim_name = "c";
    world.api.put(pod);
    world.loop.advance(1min);
    EXPECT_EQ(world.why_not("web"),
              "SchedulerError: running \"DynamicResources\" filter plugin: class gpu: selector #0: CEL runtime error: no such key: there");
    EXPECT_EQ(world.scheduler.counts().errors, 1u) << "nothing changed";
    world.loop.advance(5min);
    EXPECT_EQ(world.scheduler.counts().errors, 2u);
    put_slice("there", 2);
    world.loop.advance(11s);
    EXPECT_EQ(world.node_of("web"), "n1");
}

TEST(Scheduler, LetsAClaimThatWaitsForItsConsumerBeBoundFirst) {
    SchedulerWorld world;
    world.api.put(api_node("n1"));
    world.api.put(claim_of_class("late"));
    world.api.put(pod_with_claim("web"));
    world.loop.advance(5s);
    EXPECT_EQ(world.node_of("web"), "");
    const auto waiting = world.api.find<core::PersistentVolumeClaim>({"default", "data"});
    EXPECT_EQ(waiting->metadata.annotations.at("volume.kubernetes.io/selected-node"), "n1");
    world.bind_claim();
    EXPECT_EQ(world.node_of("web"), "n1");
}

TEST(Scheduler, PodsThatWaitForVolumesDoNotHoldUpOthers) {
    SchedulerWorld world;
    world.api.put(api_node("n1", "100"));
    world.api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.status.allocatable["pods"] = Quantity::from_value(1000); });
    world.api.put(claim_of_class("late"));
    constexpr int MoreThanAreBoundAtATime = 600;
    for (int i = 0; i < MoreThanAreBoundAtATime; ++i) {
        core::Pod waiting = pod_with_claim("waiting-" + std::to_string(i));
        waiting.spec.containers[0].resources.requests = {{"cpu", Quantity::parse("1m").value()}};
        world.api.put(waiting);
    }
    world.loop.advance(1s);
    world.api.put(api_pod("web"));
    world.loop.advance(10s);
    EXPECT_EQ(world.node_of("web"), "n1");
}

TEST(Scheduler, DoesNotBindAPodWhoseClaimCannotBeBoundAndTriesAgain) {
    SchedulerWorld world;
    world.api.put(api_node("n1"));
    world.api.put(claim_of_class("late"));
    int refused = 0;
    world.api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (!request.path.contains("/persistentvolumeclaims/data") || refused++ > 0) return std::nullopt;
        return Error(Reason::InternalError, "disk full");
    });
    world.api.put(pod_with_claim("web"));
    world.loop.advance(500ms);
    EXPECT_EQ(world.why_not("web"), "SchedulerError: running PreBind plugin \"VolumeBinding\": disk full");
    world.loop.advance(2s);
    world.bind_claim();
    EXPECT_EQ(world.node_of("web"), "n1");
}

}  // namespace
}  // namespace porthole::scheduler
