#include <algorithm>

#include <gtest/gtest.h>

#include "api/resource_v1.h"
#include "objects/resource_claims.h"
#include "scheduler/framework/extension_points.h"
#include "scheduler/plugins/device_claims.h"
#include "scheduler/scheduler_fixture.h"
#include "schema/json/json.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using namespace std::chrono_literals;
using namespace api::resource::v1;

/// Two nodes, of which "a" has the device "one"; the class "gpu".
struct DeviceWorldTest : World {
    DeviceWorldTest() {
        cluster.set_node(node("a"));
        cluster.set_node(node("b"));
        put<DeviceClass>(R"({"metadata": {"name": "gpu"}})");
        put<ResourceSlice>(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "nodeName": "a",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "one"}]}})");
        informers.start();
        loop.advance(1s);
    }
    template <class T>
    void put(const std::string& json) {
        api.put(schema::decode_json<T>(json).value());
        loop.advance(1s);
    }
    void put_claim(const std::string& name, const std::string& class_name = "gpu", const std::string& selectors = "[]") {
        put<ResourceClaim>(R"({"metadata": {"namespace": "default", "name": ")" + name + R"("}, "spec": {"devices": {"requests": [
            {"name": "r", "exactly": {"deviceClassName": ")" +
                           class_name + R"(", "allocationMode": "ExactCount", "count": 1, "selectors": )" + selectors + "}}]}}}");
    }
    ResourceClaim claim(const std::string& name) { return *api.find<ResourceClaim>({"default", name}); }
    /// Decides and reserves; the outcome of binding is in `bound` once there is one.
    std::string place(const PodInfo& info) {
        const Decision decision = cycle.decide(info);
        if (!decision.node) return decision.diagnosis.text();
        const std::string node = decision.node->name();
        const auto reserved = run_reserve(PluginCalls::all_of(plugins), info, node);
        if (!reserved) return reserved.error().message;
        scope.spawn([](DeviceWorldTest& world, PodRef pod, std::string node) -> Task<> {
            world.bound = co_await run_pre_bind(PluginCalls::all_of(world.plugins), pod, node);
            co_return {};
        }(*this, placed(info, node), node));
        return node;
    }
    void unreserve(const PodInfo& info) {
        run_unreserve(PluginCalls::all_of(plugins), info, "a");
        loop.advance(1s);
    }
    Plugin& plugin() {
        return **std::ranges::find(plugins, "DynamicResources", [](const auto& one) { return one->name(); });
    }
    std::string metrics() {
        std::string text;
        plugin().append_metrics(text);
        return text;
    }
    std::optional<Result<void>> bound;
};

PodInfo claiming(const std::string& name, const std::string& claim, bool generated = false) {
    PodInfo info = pod(name);
    info.device_claims = {{.name = "dev", .claim = claim, .is_generated = generated}};
    return info;
}

TEST(DynamicResources, AllocatesAClaimWhereItsDevicesAre) {
    DeviceWorldTest world;
    world.put_claim("c");
    EXPECT_EQ(world.place(claiming("p", "c")), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound && *world.bound) << world.bound->error().message;
    const ResourceClaim claim = world.claim("c");
    ASSERT_TRUE(claim.status.allocation);
    EXPECT_EQ(claim.status.allocation->devices.results.at(0).device, "one");
    EXPECT_EQ(claim.metadata.finalizers, std::vector<std::string>{"resource.kubernetes.io/delete-protection"});
    EXPECT_TRUE(objects::is_reserved_for(claim, "uid-p"));
    // A second pod that shares it follows it.
    EXPECT_EQ(world.place(claiming("q", "c")), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(*world.bound) << world.bound->error().message;
    EXPECT_EQ(world.claim("c").status.reserved_for.size(), 2u);
    world.cluster.remove_node("a");
    EXPECT_EQ(world.choice(claiming("r", "c")), "0/1 nodes are available: 1 resourceclaim not available on the node.");
}

TEST(DynamicResources, ADeviceIsForOneClaimFromItsChoiceOn) {
    DeviceWorldTest world;
    world.put_claim("c");
    world.put_claim("other");
    EXPECT_EQ(world.place(claiming("p", "c")), "a");
    EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.");
    EXPECT_EQ(world.choice(claiming("r", "c")), "0/2 nodes are available: resource claim default/c is in the process of being allocated.");
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.");
    world.happened.clear();
    world.api.change<ResourceClaim>({"default", "c"}, [](ResourceClaim& claim) { claim.status = {}; });
    world.loop.advance(1s);
    EXPECT_EQ(world.happened, std::vector{ClusterEvent::Kind::DevicesChanged});
    EXPECT_EQ(world.choice(claiming("q", "other")), "a");
}

TEST(DynamicResources, AClaimThatIsDeletedAfterItsChoiceFreesItsDevice) {
    DeviceWorldTest world;
    world.put_claim("c");
    world.put_claim("other");
    const PodInfo info = claiming("p", "c");
    ASSERT_EQ(world.choice(info), "a");
    ASSERT_TRUE(run_reserve(PluginCalls::all_of(world.plugins), info, "a"));
    EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.");
    world.happened.clear();
    world.api.erase<ResourceClaim>({"default", "c"});
    world.loop.advance(1s);
    EXPECT_EQ(world.happened, std::vector{ClusterEvent::Kind::DevicesChanged}) << "pods may wait for it";
    EXPECT_EQ(world.choice(claiming("q", "other")), "a");
}

TEST(DynamicResources, AClaimThatAnotherSchedulerAllocatedFreesWhatWasChosen) {
    DeviceWorldTest world;
    world.put_claim("c");
    world.put_claim("other");
    const PodInfo info = claiming("p", "c");
    const auto allocate = [&](const std::string& device) {
        ASSERT_EQ(world.choice(info), "a");
        ASSERT_TRUE(run_reserve(PluginCalls::all_of(world.plugins), info, "a"));
        world.devices_for_everybody = 0;
        world.api.change<ResourceClaim>({"default", "c"}, [&](ResourceClaim& claim) {
            auto& result = claim.status.allocation.emplace().devices.results.emplace_back();
            result.request = "r";
            result.driver = "d";
            result.pool = "p";
            result.device = device;
        });
        world.loop.advance(1s);
    };
    allocate("two");
    EXPECT_EQ(world.devices_for_everybody, 1);
    EXPECT_EQ(world.choice(claiming("q", "other")), "a");
    world.api.change<ResourceClaim>({"default", "c"}, [](ResourceClaim& claim) { claim.status = {}; });
    world.loop.advance(1s);
    allocate("one");
    EXPECT_EQ(world.devices_for_everybody, 0) << "as it was chosen";
    EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.");
}

TEST(DynamicResources, ClaimsShareADeviceAsLongAsItHasCapacity) {
    DeviceWorldTest world;
    world.put<ResourceSlice>(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "nodeName": "a",
        "pool": {"name": "p", "generation": 2, "resourceSliceCount": 1}, "devices": [{"name": "one", "allowMultipleAllocations": true,
            "capacity": {"memory": {"value": "10Gi", "requestPolicy": {"default": "5Gi"}}}}]}})");
    for (const char* name : {"c", "d", "e"}) world.put_claim(name);
    const PodInfo first = claiming("p", "c"), second = claiming("q", "d"), third = claiming("r", "e");
    for (const PodInfo* info : {&first, &second}) {
        EXPECT_EQ(world.place(*info), "a");
        world.loop.advance(1s);
        ASSERT_TRUE(world.bound && *world.bound) << world.bound->error().message;
    }
    EXPECT_EQ(world.choice(third), "0/2 nodes are available: 2 cannot allocate all claims.");
    const auto shared = [&](const char* name) { return world.claim(name).status.allocation->devices.results.at(0); };
    EXPECT_EQ(shared("c").consumed_capacity.at("memory").to_string(), "5Gi");
    EXPECT_EQ(shared("c").device, shared("d").device);
    EXPECT_NE(shared("c").share_id, shared("d").share_id);
    world.api.change<ResourceClaim>({"default", "c"}, [](ResourceClaim& claim) { claim.status = {}; });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(third), "a");
}

TEST(DynamicResources, WhatIsNotBoundIsGivenBack) {
    DeviceWorldTest world;
    world.put_claim("c");
    world.put_claim("other");
    const PodInfo info = claiming("p", "c");
    world.api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "PUT") return std::nullopt;
        return Error(Reason::Forbidden, "no");
    });
    EXPECT_EQ(world.place(info), "a");
    world.loop.advance(1s);
    EXPECT_EQ(world.bound->error().message, "running PreBind plugin \"DynamicResources\": add finalizer to claim default/c: no");
    world.unreserve(info);
    world.api.set_fault({});
    EXPECT_EQ(world.choice(claiming("q", "other")), "a");

    // What was written is kept, but not for the pod.
    EXPECT_EQ(world.place(info), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(*world.bound);
    world.unreserve(info);
    EXPECT_TRUE(world.claim("c").status.reserved_for.empty());
    EXPECT_TRUE(world.claim("c").status.allocation);
    EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.");
}

/// A write that the server does, or does not, and answers with a timeout.
TEST(DynamicResources, DevicesOfAWriteThatMayHaveHappenedAreHeldUntilTheServerTells) {
    for (const bool happens : {true, false}) {
        DeviceWorldTest world;
        world.put_claim("c");
        world.put_claim("other");
        bool answers = false;
        world.api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
            if (!answers && request.method == "GET" && request.path.ends_with("/c")) return Error(Reason::Unavailable, "gone");
            if (!request.path.ends_with("/status")) return std::nullopt;
            answers = false;
            return Error(Reason::Timeout, "timed out");
        });
        answers = true;
        const PodInfo info = claiming("p", "c");
        EXPECT_EQ(world.place(info), "a");
        world.loop.advance(1s);
        ASSERT_TRUE(world.bound && !*world.bound);
        world.unreserve(info);
        EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.") << "it may have happened";
        world.loop.advance(120s);
        EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.") << "nobody could tell";
        answers = true;
        if (happens)
            world.api.change<ResourceClaim>({"default", "c"}, [](ResourceClaim& claim) {
                auto& result = claim.status.allocation.emplace().devices.results.emplace_back();
                result.request = "r";
                result.driver = "d";
                result.pool = "p";
                result.device = "one";
            });
        world.loop.advance(10s);
        EXPECT_EQ(world.choice(claiming("q", "other")), happens ? "0/2 nodes are available: 2 cannot allocate all claims." : "a");
    }
}

TEST(DynamicResources, DevicesAreFreeOfAnAllocationThatNoWatchEverShowed) {
    DeviceWorldTest world;
    world.put_claim("c");
    world.put_claim("other");
    world.api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.path.ends_with("/resourceclaims")) return Error(Reason::Unavailable, "no list");
        return std::nullopt;
    });
    world.api.expire_watches();
    EXPECT_EQ(world.place(claiming("p", "c")), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound && *world.bound) << world.bound->error().message;
    world.api.change<ResourceClaim>({"default", "c"}, [](ResourceClaim& claim) { claim.status = {}; });
    EXPECT_EQ(world.choice(claiming("q", "other")), "0/2 nodes are available: 2 cannot allocate all claims.");
    world.api.set_fault({});
    world.loop.advance(60s);
    EXPECT_EQ(world.choice(claiming("q", "other")), "a");
}

TEST(DynamicResources, AClaimThatAPodNamesTwiceIsGivenBackByOneRequest) {
    DeviceWorldTest world;
    world.put_claim("c");
    PodInfo info = claiming("p", "c");
    info.device_claims.push_back({.name = "again", .claim = "c"});
    EXPECT_EQ(world.place(info), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound && *world.bound) << world.bound->error().message;
    world.api.clear_requests();
    world.unreserve(info);
    EXPECT_EQ(std::ranges::count(world.api.requests(), "PATCH", &client::FakeApi::Seen::method), 1);
    EXPECT_TRUE(world.claim("c").status.reserved_for.empty());
}

/// Each node has one device, of a class of its own, and "b" is the busier one.
struct AlternativesTest : DeviceWorldTest {
    AlternativesTest() {
        put<ResourceSlice>(R"({"metadata": {"name": "t"}, "spec": {"driver": "e", "nodeName": "b",
            "pool": {"name": "q", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "two"}]}})");
        for (const std::string driver : {"d", "e"})
            put<DeviceClass>(R"({"metadata": {"name": ")" + driver +
                             R"("}, "spec": {"selectors": [{"cel": {"expression": "device.driver == ')" + driver + R"('"}}]}})");
        cluster.set_pod(placed(pod("other", 400), "b"));
    }
    void put_alternatives(const std::string& name, const std::vector<std::string>& classes) {
        std::string list;
        for (const std::string& one : classes)
            list += (list.empty() ? "" : ", ") + (R"({"name": "of-)" + one + R"(", "deviceClassName": ")" + one) +
                    R"(", "allocationMode": "ExactCount", "count": 1})";
        put<ResourceClaim>(R"({"metadata": {"namespace": "default", "name": ")" + name +
                           R"("}, "spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [)" + list + "]}]}}}");
    }
    std::string scores(const PodInfo& info) {
        EXPECT_NE(cycle.decide(info).node, nullptr);
        const auto score = [this](const char* node) { return std::to_string(plugin().score(*cluster.find_node(node))); };
        return score("a") + " " + score("b");
    }
};

TEST(DynamicResources, NodesWithAnEarlierAlternativeArePreferred) {
    AlternativesTest world;
    world.put_alternatives("any", {"gpu"});
    EXPECT_EQ(world.choice(claiming("p", "any")), "a") << "the one with less work, as all have the first";
    world.put_alternatives("d-first", {"d", "e"});
    EXPECT_EQ(world.choice(claiming("p", "d-first")), "a");
    world.put_alternatives("e-first", {"e", "d"});
    EXPECT_EQ(world.choice(claiming("p", "e-first")), "b");
    EXPECT_EQ(world.scores(claiming("p", "e-first")), "7 8");
    EXPECT_EQ(world.plugin().weight(), 2);
}

TEST(DynamicResources, AlternativesThatAreAllocatedAlreadyCountOnEachNode) {
    AlternativesTest world;
    world.put_alternatives("old", {"none", "gpu"});
    world.api.change<ResourceClaim>({"default", "old"}, [](ResourceClaim& claim) {
        claim.status.allocation.emplace().devices.results.push_back({.request = "r/of-gpu", .driver = "f", .pool = "p", .device = "three"});
    });
    world.put_alternatives("e-first", {"e", "d"});
    PodInfo info = claiming("p", "e-first");
    info.device_claims.push_back({.name = "old", .claim = "old"});
    EXPECT_EQ(world.scores(info), "14 15");
}

TEST(DynamicResources, SaysWhyAPodHasToWait) {
    DeviceWorldTest world;
    EXPECT_EQ(world.choice(claiming("p", "")), "0/2 nodes are available: pod \"default/p\": ResourceClaim not created yet.");
    EXPECT_EQ(world.choice(claiming("p", "c")), "0/2 nodes are available: could not find ResourceClaim \"default/c\".");
    world.put_claim("c", "gone");
    EXPECT_EQ(world.choice(claiming("p", "c")), "0/2 nodes are available: request r: device class gone does not exist.");
    EXPECT_EQ(world.choice(claiming("p", "c", true)),
              "0/2 nodes are available: ResourceClaim default/c was not created for Pod default/p (Pod is not owner).");
    world.put_claim("full");
    world.api.change<ResourceClaim>({"default", "full"}, [](ResourceClaim& claim) {
        claim.status.allocation.emplace();
        for (int i = 0; i < 256; ++i)
            claim.status.reserved_for.push_back({.resource = "pods", .name = std::to_string(i), .uid = std::to_string(i)});
    });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(claiming("p", "full")), "0/2 nodes are available: resourceclaim in use.");
    PodInfo holder = claiming("p", "full");
    holder.uid = "7";
    EXPECT_NE(world.cycle.decide(holder).node, nullptr) << "it has its place already";
}

TEST(DynamicResources, APodWhoseSelectorFailsGoesNowhere) {
    DeviceWorldTest world;
    world.put<ResourceSlice>(R"({"metadata": {"name": "t"}, "spec": {"driver": "d", "nodeName": "b",
        "pool": {"name": "q", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "two", "attributes": {"there": {"bool": true}}}]}})");
    world.put_claim("c", "gpu", R"([{"cel": {"expression": "device.attributes['d'].there"}}])");
    EXPECT_EQ(world.choice(claiming("p", "c")),
              "running \"DynamicResources\" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: there");
}

TEST(DynamicResources, AClaimOnTheWrongNodesIsAllocatedAnew) {
    DeviceWorldTest world;
    world.put_claim("c");
    EXPECT_EQ(world.place(claiming("p", "c")), "a");
    world.loop.advance(1s);
    world.cluster.remove_node("a");
    const PodInfo info = claiming("p", "c");
    const Decision decision = world.cycle.decide(info);
    ASSERT_EQ(decision.node, nullptr);
    EXPECT_EQ(run_post_filters(PluginCalls::all_of(world.plugins), std::make_shared<const PodInfo>(info), decision.diagnosis, world.cycle)
                  .message.substr(0, 41),
              "deallocation of ResourceClaim completed, ");
    world.loop.advance(1s);
    EXPECT_FALSE(world.claim("c").status.allocation);
}

/// The only device has to be attached by its driver.
struct SlowDeviceTest : DeviceWorldTest {
    SlowDeviceTest() {
        put<ResourceSlice>(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "allNodes": true,
            "pool": {"name": "p", "generation": 2, "resourceSliceCount": 1}, "devices": [{"name": "one", "bindsToNode": true,
            "bindingConditions": ["attached", "powered"], "bindingFailureConditions": ["broken"]}]}})");
        put_claim("c");
        node = place(info);
        loop.advance(1s);
    }
    void say(const std::string& conditions) {
        api.change<ResourceClaim>({"default", "c"}, [&](ResourceClaim& claim) {
            claim.status.devices = {schema::decode_json<AllocatedDeviceStatus>(
                                        R"({"driver": "d", "pool": "p", "device": "one", "conditions": [)" + conditions + "]}")
                                        .value()};
        });
        loop.advance(1s);
    }
    /// What the scheduler does after an error: another attempt, which finds no node.
    void expect_deallocation() {
        run_unreserve(PluginCalls::all_of(plugins), info, node);
        loop.advance(1s);
        const Decision decision = cycle.decide(info);
        EXPECT_EQ(decision.node, nullptr);
        EXPECT_EQ(decision.diagnosis.text(), "0/2 nodes are available: 2 resourceclaim not available on the node.");
        run_post_filters(PluginCalls::all_of(plugins), std::make_shared<const PodInfo>(info), decision.diagnosis, cycle);
        loop.advance(1s);
        EXPECT_FALSE(claim("c").status.allocation);
        EXPECT_NE(cycle.decide(info).node, nullptr) << "it may be tried again";
    }
    const PodInfo info = claiming("p", "c");
    std::string node;
};
constexpr const char *Attached = R"({"type": "attached", "status": "True"})", *Powered = R"(, {"type": "powered", "status": "True"})";

TEST(DynamicResources, APodIsBoundOnceItsDevicesCanBeUsed) {
    SlowDeviceTest world;
    ASSERT_TRUE(world.claim("c").status.allocation);
    EXPECT_TRUE(world.claim("c").status.allocation->allocation_timestamp);
    EXPECT_EQ(world.claim("c").status.allocation->node_selector->node_selector_terms[0].match_fields[0].values,
              std::vector<std::string>{world.node});
    EXPECT_FALSE(world.bound);
    world.say(Attached);
    EXPECT_FALSE(world.bound) << "not all of them are";
    world.loop.advance(300s);
    EXPECT_EQ(world.metrics(), "") << "it still waits";
    world.say(std::string(Attached) + Powered);
    ASSERT_TRUE(world.bound);
    EXPECT_TRUE(*world.bound) << world.bound->error().message;
    const std::string labels = R"({profile="default-scheduler",driver="d",status="success")", metrics = world.metrics();
    EXPECT_TRUE(metrics.contains("scheduler_dra_bindingconditions_allocations_total" + labels + "} 1\n")) << metrics;
    const std::string wait = "scheduler_dra_bindingconditions_wait_duration_seconds";
    EXPECT_TRUE(metrics.contains(wait + "_bucket" + labels + R"(,le="204.8"} 0)")) << metrics;
    EXPECT_TRUE(metrics.contains(wait + "_bucket" + labels + R"(,le="409.6"} 1)")) << metrics;
    EXPECT_TRUE(metrics.contains(wait + "_bucket" + labels + R"(,le="819.2"} 1)")) << metrics;
    EXPECT_TRUE(metrics.contains(wait + "_count" + labels + "} 1\n")) << metrics;
}

TEST(DynamicResources, WaitsForDevicesAreCountedByDriverAndOutcome) {
    struct {
        const char* status;
        std::function<void(SlowDeviceTest&)> happens;
    } const rows[] = {
        {"failure", [](SlowDeviceTest& world) { world.say(R"({"type": "broken", "status": "True"})"); }},
        {"timeout", [](SlowDeviceTest& world) { world.loop.advance(610s); }},
        {"error",
         [](SlowDeviceTest& world) {
             world.api.erase<ResourceClaim>({"default", "c"});
             world.loop.advance(1s);
         }},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.status);
        SlowDeviceTest world;
        row.happens(world);
        ASSERT_TRUE(world.bound);
        const std::string labels = std::string(R"({profile="default-scheduler",driver="d",status=")") + row.status + "\"} 1\n";
        EXPECT_TRUE(world.metrics().contains("_allocations_total" + labels)) << world.metrics();
        EXPECT_TRUE(world.metrics().contains("_seconds_count" + labels)) << world.metrics();
    }
}

TEST(DynamicResources, ADeviceWithoutConditionsIsNotCounted) {
    DeviceWorldTest world;
    world.put_claim("c");
    EXPECT_EQ(world.place(claiming("p", "c")), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound && *world.bound) << world.bound->error().message;
    EXPECT_EQ(world.metrics(), "");
}

TEST(DynamicResources, ADeviceThatItsDriverCannotPrepareIsGivenBack) {
    SlowDeviceTest world;
    world.say(std::string(Attached) + R"(, {"type": "broken", "status": "True", "reason": "Fan", "message": "too hot"})");
    ASSERT_TRUE(world.bound);
    EXPECT_EQ(world.bound->error().message,
              "running PreBind plugin \"DynamicResources\": device binding failed: claim=c, reason=Fan, message=\"too hot\"");
    world.expect_deallocation();
}

TEST(DynamicResources, ADeviceThatIsNotReadyInTimeIsGivenBack) {
    SlowDeviceTest world;
    world.loop.advance(590s);
    EXPECT_FALSE(world.bound);
    world.loop.advance(20s);
    ASSERT_TRUE(world.bound);
    EXPECT_EQ(world.bound->error().reason, Reason::Timeout);
    world.expect_deallocation();
}

/// The class stands for an extended resource; "a" has one such device, and "b" has the resource itself as far as `b_has` says.
struct ExtendedResourceTest : DeviceWorldTest {
    explicit ExtendedResourceTest(std::int64_t b_has = 0) {
        put<DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}})");
        NodeSpec b = testing::node("b");
        if (b_has > 0) b.allocatable.extended_slot("example.com/gpu") = b_has;
        cluster.set_node(b);
    }
    PodInfo wanting(const std::string& name, const std::string& resource = "example.com/gpu") {
        put<api::core::v1::Pod>(R"({"metadata": {"namespace": "default", "name": ")" + name + R"(", "uid": "uid-)" + name +
                                R"("}, "spec": {"containers": [{"name": "main", "resources": {"requests": {")" + resource +
                                R"(": "1"}}}]}})");
        PodInfo info = pod(name);
        info.requests.extended_slot(resource) = 1;
        return info;
    }
    std::shared_ptr<const ResourceClaim> only_claim() {
        const auto claims = informers.get<ResourceClaim>().list();
        return claims.size() == 1 ? claims[0] : nullptr;
    }
};

TEST(DynamicResources, ExtendedResourcesAreSatisfiedByDevices) {
    for (const char* resource : {"example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"}) {
        ExtendedResourceTest world;
        EXPECT_EQ(world.place(world.wanting("p", resource)), "a");
        world.loop.advance(1s);
        ASSERT_TRUE(world.bound && *world.bound) << world.bound->error().message;
        const auto claim = world.only_claim();
        ASSERT_TRUE(claim && claim->status.allocation);
        EXPECT_TRUE(objects::is_extended_claim(*claim));
        EXPECT_EQ(claim->metadata.owner_references.at(0).uid, "uid-p");
        EXPECT_EQ(claim->status.allocation->devices.results.at(0).device, "one");
        EXPECT_TRUE(objects::is_reserved_for(*claim, "uid-p"));
        EXPECT_TRUE(world.metrics().contains("scheduler_resourceclaim_creates_total{status=\"success\"} 1\n")) << world.metrics();
        const auto status = world.api.find<api::core::v1::Pod>({"default", "p"})->status.extended_resource_claim_status;
        ASSERT_TRUE(status);
        EXPECT_EQ(status->resource_claim_name, claim->metadata.name);
        EXPECT_EQ(status->request_mappings.at(0).request_name, "container-0-request-0");
        EXPECT_TRUE(objects::is_of_extended_claim(*world.api.find<api::core::v1::Pod>({"default", "p"}), "main", resource));
        EXPECT_EQ(world.choice(world.wanting("q", resource)), "0/2 nodes are available: 2 cannot allocate all claims.");
    }
}

TEST(DynamicResources, ExtendedResourcesOfTheNodeNeedNoDevices) {
    ExtendedResourceTest world(1);
    world.cluster.remove_node("a");
    EXPECT_EQ(world.place(world.wanting("p")), "b");
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound && *world.bound);
    EXPECT_FALSE(world.only_claim());
}

TEST(DynamicResources, AnExtendedResourceWithoutAClassIsWhatNodesHave) {
    ExtendedResourceTest world;
    const PodInfo info = world.wanting("p");
    ASSERT_EQ(world.choice(info), "a");
    world.put<DeviceClass>(R"({"metadata": {"name": "gpu"}})");
    EXPECT_EQ(world.choice(info), "0/2 nodes are available: 2 Insufficient example.com/gpu.") << "nothing is remembered";
}

TEST(DynamicResources, TheClaimOfAPodThatIsNotBoundIsDeleted) {
    ExtendedResourceTest world;
    const PodInfo info = world.wanting("p");
    EXPECT_EQ(world.place(info), "a");
    world.loop.advance(1s);
    ASSERT_TRUE(world.only_claim());
    world.unreserve(info);
    EXPECT_FALSE(world.only_claim());
    EXPECT_EQ(world.choice(world.wanting("q")), "a");

    // What could not be deleted then is before the next attempt.
    EXPECT_EQ(world.place(info), "a");
    world.loop.advance(1s);
    world.api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "DELETE") return std::nullopt;
        return Error(Reason::Forbidden, "no");
    });
    world.unreserve(info);
    world.api.set_fault({});
    const Decision decision = world.cycle.decide(info);
    EXPECT_EQ(decision.diagnosis.text(), "0/2 nodes are available: 2 cannot schedule extended resource claim.");
    world.happened.clear();
    run_post_filters(PluginCalls::all_of(world.plugins), std::make_shared<const PodInfo>(info), decision.diagnosis, world.cycle);
    world.loop.advance(1s);
    EXPECT_FALSE(world.only_claim());
    EXPECT_FALSE(world.happened.empty()) << "the pod is tried again";
    EXPECT_EQ(world.choice(info), "a");
}

TEST(DynamicResources, APodThatIsBoundAfterAllKeepsItsClaim) {
    ExtendedResourceTest world;
    const PodInfo info = world.wanting("p");
    EXPECT_EQ(world.place(info), "a");
    world.loop.advance(1s);
    world.api.change<api::core::v1::Pod>({"default", "p"}, [](api::core::v1::Pod& pod) { pod.spec.node_name = "a"; });
    world.unreserve(info);
    EXPECT_TRUE(world.only_claim());
}

TEST(DynamicResources, APodThatWaitsForADeviceSeesItsClaimDeallocated) {
    SlowDeviceTest world;
    world.api.change<ResourceClaim>({"default", "c"}, [](ResourceClaim& claim) { claim.status = {}; });
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound);
    EXPECT_FALSE(*world.bound);
}

}  // namespace
}  // namespace porthole::scheduler
