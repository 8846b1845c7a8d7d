#include "controllers/device_taint_eviction/device_taint_eviction.h"

#include "controllers/framework/sim/sim_world.h"
#include "objects/conditions.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Pod;
using namespace api::resource::v1;
using namespace std::chrono_literals;

DeviceToleration toleration(const std::string& key, std::optional<std::int64_t> seconds, const std::string& effect = "NoExecute") {
    return {.key = key, .operator_ = "Exists", .value = "", .effect = effect, .toleration_seconds = seconds};
}

/// A node with the device "one" of d/p.
class DeviceTaintEviction : public SimWorld {
protected:
    void SetUp() override {
        ResourceSlice slice;
        slice.metadata.name = "s";
        slice.spec.driver = "d";
        slice.spec.pool = {.name = "p", .generation = 1, .resource_slice_count = 1};
        slice.spec.devices.emplace_back().name = "one";
        api.put(slice);
        run<DeviceTaintEvictionController>();
        pass(1s);
    }
    /// A pod with the device, by a claim of the same name.
    void put_pod(const std::string& name, const std::vector<DeviceToleration>& tolerations = {}, const std::string& device = "one") {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.metadata.finalizers = {"test/watch"};  // so that what was written last can be seen
        pod.spec.node_name = "n";
        auto& entry = pod.spec.resource_claims.emplace_back();
        entry.name = "dev";
        entry.resource_claim_name = name;
        const std::string uid = api.put(pod).metadata.uid;
        ResourceClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        auto& result = claim.status.allocation.emplace().devices.results.emplace_back();
        result.driver = "d";
        result.pool = "p";
        result.device = device;
        result.tolerations = tolerations;
        claim.status.reserved_for = {{.resource = "pods", .name = name, .uid = uid}};
        api.put(claim);
    }
    void taint(const std::vector<std::string>& keys, const std::string& effect = "NoExecute") {
        api.change<ResourceSlice>({"", "s"}, [&](ResourceSlice& slice) {
            auto& taints = slice.spec.devices[0].taints;
            taints.clear();
            for (const std::string& key : keys) {
                DeviceTaint& made = taints.emplace_back();
                made.key = key;
                made.effect = effect;
                made.time_added = Timestamp(loop.wall_now());
            }
        });
        pass(1s);
    }
    bool is_deleted(const std::string& name) { return objects::is_terminating(*api.find<Pod>({"ns", name})); }
};

TEST_F(DeviceTaintEviction, DeletesPodsOnceTheirTolerationHasExpired) {
    put_pod("none");
    put_pod("minute", {toleration("x", 60)});
    put_pod("ever", {toleration("x", std::nullopt)});
    put_pod("shortest", {toleration("x", 60), toleration("", 10)});
    put_pod("scheduled", {toleration("x", std::nullopt, "NoSchedule")});
    put_pod("other", {}, "two");
    taint({"x"}, "NoSchedule");
    pass(2min);
    EXPECT_FALSE(is_deleted("none"));
    taint({"x"});
    EXPECT_TRUE(is_deleted("none"));
    EXPECT_TRUE(is_deleted("scheduled")) << "a toleration of another effect";
    EXPECT_FALSE(is_deleted("shortest"));
    pass(10s);
    EXPECT_TRUE(is_deleted("shortest"));
    EXPECT_FALSE(is_deleted("minute"));
    pass(50s);
    EXPECT_TRUE(is_deleted("minute"));
    pass(24h);
    EXPECT_FALSE(is_deleted("ever"));
    EXPECT_FALSE(is_deleted("other"));
    const auto conditions = api.find<Pod>({"ns", "none"})->status.conditions;
    const auto* condition = objects::find_condition(conditions, "DisruptionTarget");
    ASSERT_TRUE(condition);
    EXPECT_EQ(condition->reason, "DeletionByDeviceTaintManager");
    EXPECT_EQ(condition->message, "Device Taint manager: deleting due to NoExecute taint");
}

TEST_F(DeviceTaintEviction, CountsFromTheTimeOfTheTaint) {
    taint({"x"});
    pass(59s);
    put_pod("late", {toleration("x", 60)});
    pass(2s);
    EXPECT_TRUE(is_deleted("late"));
}

TEST_F(DeviceTaintEviction, NeedsEachTaintToBeTolerated) {
    put_pod("p", {toleration("x", std::nullopt)});
    taint({"x", "y"});
    EXPECT_TRUE(is_deleted("p"));
}

TEST_F(DeviceTaintEviction, IsCancelledWithTheTaint) {
    put_pod("p", {toleration("x", 60)});
    taint({"x"});
    pass(30s);
    taint({});
    pass(5min);
    EXPECT_FALSE(is_deleted("p"));
    taint({"x"});
    pass(59s);
    EXPECT_TRUE(is_deleted("p")) << "a new taint has a time of its own";
}

TEST_F(DeviceTaintEviction, LeavesPodsThatHaveNotGotTheClaim) {
    put_pod("p");
    api.change<ResourceClaim>({"ns", "p"}, [](ResourceClaim& claim) { claim.status.reserved_for[0].uid = "another"; });
    pass(1s);
    taint({"x"});
    pass(1min);
    EXPECT_FALSE(is_deleted("p"));
}

TEST_F(DeviceTaintEviction, LooksAtTheNewestGenerationOfAPool) {
    put_pod("p");
    ResourceSlice newer = *api.find<ResourceSlice>({"", "s"});
    newer.metadata = {};
    newer.metadata.name = "newer";
    newer.spec.pool.generation = 2;
    api.put(newer);
    taint({"x"});
    pass(1min);
    EXPECT_FALSE(is_deleted("p"));
    api.remove<ResourceSlice>({"", "newer"});
    pass(1s);
    EXPECT_TRUE(is_deleted("p"));
}

}  // namespace
}  // namespace porthole::controllers
