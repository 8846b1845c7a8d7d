#include <gtest/gtest.h>

#include "api/storage_v1.h"
#include "scheduler/framework/extension_points.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using namespace std::chrono_literals;
namespace core = api::core::v1;

/// Two nodes in two zones, and the classes "late", whose volumes are made for the pod's node, and "local", which makes none.
struct VolumeWorld : World {
    VolumeWorld() {
        cluster.set_node(labeled(node("a1"), {{"zone", "a"}}));
        cluster.set_node(labeled(node("b1"), {{"zone", "b"}}));
        put_class("late", "example.com/disks");
        put_class("local", "kubernetes.io/no-provisioner");
        informers.start();
        loop.advance(1s);
    }
    void put_class(const std::string& name, const std::string& provisioner) {
        api::storage::v1::StorageClass storage_class;
        storage_class.metadata.name = name;
        storage_class.provisioner = provisioner;
        storage_class.volume_binding_mode = "WaitForFirstConsumer";
        api.put(storage_class);
    }
    void put_claim(const std::string& name, const std::string& class_name, const std::string& volume = "") {
        core::PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "default";
        claim.metadata.name = name;
        claim.spec.storage_class_name = class_name;
        claim.spec.volume_name = volume;
        claim.status.phase = volume.empty() ? "Pending" : "Bound";
        api.put(claim);
        loop.advance(1s);
    }
    void put_volume(const std::string& name, const std::string& zone, const std::string& class_name = "local") {
        core::PersistentVolume volume;
        volume.metadata.name = name;
        volume.spec.storage_class_name = class_name;
        volume.status.phase = "Available";
        volume.spec.node_affinity.emplace().required.emplace().node_selector_terms = {
            {.match_expressions = {{.key = "zone", .operator_ = "In", .values = {zone}}}}};
        api.put(volume);
        loop.advance(1s);
    }
    std::string selected_node(const std::string& claim) {
        const auto found = api.find<core::PersistentVolumeClaim>({"default", claim});
        const auto selected = found->metadata.annotations.find("volume.kubernetes.io/selected-node");
        return selected == found->metadata.annotations.end() ? "" : selected->second;
    }
    /// Starts to bind the pod's claims for `node`; the outcome is in `bound` once there is one.
    void pre_bind(const PodInfo& info, const std::string& node) {
        scope.spawn([](VolumeWorld& world, PodRef pod, std::string node) -> Task<> {
            world.bound = co_await run_pre_bind(PluginCalls::all_of(world.plugins), pod, node);
            co_return {};
        }(*this, placed(info, node), node));
        loop.advance(1s);
    }
    std::optional<Result<void>> bound;
};

PodInfo pod_with(std::vector<std::string> claims) {
    PodInfo info = pod("p");
    info.claims = std::move(claims);
    return info;
}

TEST(VolumeBinding, WaitsForClaimsAndFollowsTheirVolumes) {
    VolumeWorld world;
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: persistentvolumeclaim \"data\" not found.");
    world.put_claim("data", "immediate");
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
    EXPECT_EQ(world.choice(pod_with({"data", "more"})), "0/2 nodes are available: persistentvolumeclaim \"more\" not found.");
    world.put_claim("data", "late");
    EXPECT_NE(world.cycle.decide(pod_with({"data"})).node, nullptr);
    world.put_claim("data", "late", "v");
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: persistentvolume \"v\" not found.");
    world.put_volume("v", "b");
    EXPECT_EQ(world.choice(pod_with({"data"})), "b1");
    world.api.change<core::PersistentVolumeClaim>({"default", "data"}, [](core::PersistentVolumeClaim& claim) {
        claim.metadata.deletion_timestamp = Timestamp::from_seconds(1);
        claim.metadata.finalizers = {"kubernetes.io/pvc-protection"};
    });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: persistentvolumeclaim \"data\" is being deleted.");
}

TEST(VolumeBinding, GoesWhereThereAreVolumesForAllOfItsClaims) {
    VolumeWorld world;
    world.put_claim("one", "local");
    world.put_claim("two", "local");
    world.put_volume("a", "a");
    EXPECT_EQ(world.choice(pod_with({"one", "two"})),
              "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
    world.put_volume("b", "b");
    world.put_volume("c", "b");
    EXPECT_EQ(world.choice(pod_with({"one", "two"})), "b1") << "a1 has one volume for two claims";
    world.api.change<core::PersistentVolume>(
        {"", "c"}, [](core::PersistentVolume& volume) { volume.spec.claim_ref.emplace() = {.namespace_ = "default", .name = "other"}; });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"one", "two"})),
              "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.")
        << "a volume that another claim has is no candidate";
}

TEST(VolumeBinding, SmallClaimsLeaveLargeVolumesToLargeOnes) {
    VolumeWorld world;
    const auto put_sized = [&](const std::string& name, const char* size) {
        world.put_volume(name, "a");
        world.api.change<core::PersistentVolume>(
            {"", name}, [&](core::PersistentVolume& volume) { volume.spec.capacity["storage"] = Quantity::parse(size).value(); });
    };
    put_sized("a-large", "10Gi");
    put_sized("b-small", "2Gi");
    for (const auto& [name, size] : {std::pair("small", "1Gi"), std::pair("large", "5Gi")}) {
        world.put_claim(name, "local");
        world.api.change<core::PersistentVolumeClaim>({"default", name}, [&](core::PersistentVolumeClaim& claim) {
            claim.spec.resources.requests["storage"] = Quantity::parse(size).value();
        });
    }
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"small", "large"})), "a1");
    EXPECT_EQ(world.choice(pod_with({"large", "small"})), "a1");
    world.api.change<core::PersistentVolume>({"", "b-small"}, [](core::PersistentVolume& volume) { volume.status.phase = "Released"; });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"large", "small"})),
              "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
}

TEST(VolumeBinding, AClaimThatNamesItsVolumeWaitsUntilItIsBound) {
    VolumeWorld world;
    world.put_claim("data", "late", "v");
    world.api.change<core::PersistentVolumeClaim>({"default", "data"},
                                                  [](core::PersistentVolumeClaim& claim) { claim.status.phase = "Pending"; });
    world.put_volume("v", "b", "late");
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
}

TEST(VolumeBinding, VolumesAreMadeWhereTheClassAllowsIt) {
    VolumeWorld world;
    world.put_claim("data", "late");
    world.api.change<api::storage::v1::StorageClass>({"", "late"}, [](api::storage::v1::StorageClass& storage_class) {
        storage_class.allowed_topologies = {{.match_label_expressions = {{.key = "zone", .values = {"b", "c"}}}}};
    });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "b1");
    world.api.change<api::storage::v1::StorageClass>({"", "late"}, [](api::storage::v1::StorageClass& storage_class) {
        storage_class.allowed_topologies[0].match_label_expressions[0].values = {"c"};
    });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
    world.put_volume("v", "a", "late");
    EXPECT_EQ(world.choice(pod_with({"data"})), "a1") << "one that exists is as good";
}

TEST(VolumeBinding, VolumesAreMadeWhereThereIsRoom) {
    using namespace api::storage::v1;
    VolumeWorld world;
    world.put_claim("data", "late");
    world.api.change<core::PersistentVolumeClaim>({"default", "data"}, [](core::PersistentVolumeClaim& claim) {
        claim.spec.resources.requests["storage"] = *Quantity::parse("5Gi");
    });
    CSIDriver driver;
    driver.metadata.name = "example.com/disks";
    driver.spec.storage_capacity = true;
    world.api.put(driver);
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: 2 node(s) did not have enough free storage.");
    const auto put_capacity = [&](const char* zone, const char* total, const char* largest) {
        CSIStorageCapacity capacity;
        capacity.metadata.namespace_ = "driver";
        capacity.metadata.name = zone;
        capacity.storage_class_name = "late";
        capacity.node_topology.emplace().match_labels["zone"] = zone;
        capacity.capacity = *Quantity::parse(total);
        if (*largest) capacity.maximum_volume_size = *Quantity::parse(largest);
        world.api.put(capacity);
        world.loop.advance(1s);
    };
    put_capacity("a", "10Gi", "4Gi");
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/2 nodes are available: 2 node(s) did not have enough free storage.");
    world.happened.clear();
    put_capacity("a", "10Gi", "3Gi");
    EXPECT_TRUE(world.happened.empty()) << "less room helps no one";
    put_capacity("b", "5Gi", "");
    EXPECT_EQ(world.happened, std::vector(1, ClusterEvent::Kind::VolumesChanged));
    EXPECT_EQ(world.choice(pod_with({"data"})), "b1");
    world.api.change<CSIStorageCapacity>({"driver", "b"}, [](CSIStorageCapacity& capacity) {
        capacity.node_topology.emplace().match_expressions = {{.key = "zone", .operator_ = "In", .values = {"a"}}};
    });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "a1") << "without a label to find it by";
}

TEST(VolumeBinding, GoesWhereItsVolumeIsBeingMade) {
    VolumeWorld world;
    world.put_claim("data", "late");
    world.api.change<core::PersistentVolumeClaim>({"default", "data"}, [](core::PersistentVolumeClaim& claim) {
        claim.metadata.annotations["volume.kubernetes.io/selected-node"] = "b1";
    });
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "b1");
    world.cluster.remove_node("b1");
    EXPECT_EQ(world.choice(pod_with({"data"})), "a1") << "a node that is gone is not waited for";
}

TEST(VolumeBinding, InTreeVolumesFollowTheDriverThatTookOver) {
    VolumeWorld world;
    world.cluster.set_node(labeled(node("c1"), {{"topology.cinder.csi.openstack.org/zone", "nova"}}));
    core::PersistentVolume volume;
    volume.metadata.name = "v";
    volume.spec.cinder.emplace().volume_id = "d";
    volume.spec.node_affinity.emplace().required.emplace().node_selector_terms = {
        {.match_expressions = {{.key = "topology.kubernetes.io/zone", .operator_ = "In", .values = {"nova"}}}}};
    world.api.put(volume);
    world.put_claim("data", "late", "v");
    EXPECT_EQ(world.choice(pod_with({"data"})), "0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity.");
    api::storage::v1::CSINode csi_node;
    csi_node.metadata.name = "c1";
    csi_node.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] = "kubernetes.io/aws-ebs,kubernetes.io/cinder";
    world.api.put(csi_node);
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(pod_with({"data"})), "c1");
}

TEST(VolumeBinding, TellsOfClaimsVolumesAndClasses) {
    VolumeWorld world;
    world.happened.clear();
    world.put_claim("data", "late");
    EXPECT_EQ(world.happened.size(), 1u);
    world.put_volume("v", "a");
    EXPECT_EQ(world.happened.size(), 2u);
    world.put_class("more", "example.com/disks");
    world.loop.advance(1s);
    EXPECT_EQ(world.happened, std::vector(3, ClusterEvent::Kind::VolumesChanged));
}

TEST(VolumeBinding, BindsUnboundClaimsForTheChosenNodeBeforeThePod) {
    VolumeWorld world;
    world.put_volume("v", "b", "late");
    world.put_claim("bound", "late", "v");
    world.put_claim("data", "late");
    world.pre_bind(pod_with({"bound", "data"}), "b1");
    EXPECT_EQ(world.selected_node("data"), "b1");
    EXPECT_EQ(world.selected_node("bound"), "");
    EXPECT_FALSE(world.bound) << "waits for the volume";
    world.put_claim("data", "late", "w");
    ASSERT_TRUE(world.bound);
    EXPECT_TRUE(*world.bound);
}

TEST(VolumeBinding, ASharedClaimIsBoundForOneNode) {
    VolumeWorld world;
    world.put_claim("data", "late");
    const PodInfo first = pod_with({"data"});
    PodInfo second = pod_with({"data"});
    second.uid = "uid-second";
    ASSERT_TRUE(run_reserve(PluginCalls::all_of(world.plugins), first, "b1"));
    EXPECT_EQ(world.choice(second), "b1");
    world.cluster.remove_node("b1");
    EXPECT_EQ(world.choice(second), "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.");

    world.happened.clear();
    run_unreserve(PluginCalls::all_of(world.plugins), second, "a1");
    EXPECT_TRUE(world.happened.empty()) << "the first still waits for it";
    run_unreserve(PluginCalls::all_of(world.plugins), first, "b1");
    EXPECT_EQ(world.happened, std::vector(1, ClusterEvent::Kind::VolumesChanged));
    EXPECT_EQ(world.choice(second), "a1");
    run_unreserve(PluginCalls::all_of(world.plugins), first, "b1");
    EXPECT_EQ(world.happened.size(), 1u) << "once";

    ASSERT_TRUE(run_reserve(PluginCalls::all_of(world.plugins), first, "b1"));
    world.put_claim("data", "late", "v");
    world.put_volume("v", "a", "late");
    EXPECT_EQ(world.choice(second), "a1") << "a bound claim's volume decides";
}

TEST(VolumeBinding, AClaimThatItsProvisionerGivesBackIsForAnotherNode) {
    VolumeWorld world;
    world.put_claim("data", "late");
    world.pre_bind(pod_with({"data"}), "b1");
    EXPECT_FALSE(world.bound);
    world.api.change<core::PersistentVolumeClaim>({"default", "data"},
                                                  [](core::PersistentVolumeClaim& claim) { claim.metadata.annotations.clear(); });
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound);
    EXPECT_TRUE(world.bound->error().message.ends_with("binding volumes: provisioning failed for PVC \"data\""))
        << world.bound->error().message;
}

TEST(VolumeBinding, DoesNotWaitForAClaimThatIsDeleted) {
    VolumeWorld world;
    world.put_claim("data", "late");
    world.pre_bind(pod_with({"data"}), "b1");
    EXPECT_FALSE(world.bound);
    world.api.erase<core::PersistentVolumeClaim>({"default", "data"});
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound);
    EXPECT_TRUE(world.bound->error().message.ends_with("binding volumes: PVC \"data\" was deleted")) << world.bound->error().message;
}

TEST(VolumeBinding, DoesNotWaitForAPodThatIsDeleted) {
    VolumeWorld world;
    world.put_claim("data", "late");
    PodInfo info = pod_with({"data"});
    core::Pod object;
    object.metadata.namespace_ = info.namespace_;
    object.metadata.name = info.name;
    info.uid = world.api.put(object).metadata.uid;
    world.loop.advance(1s);
    world.pre_bind(info, "b1");
    EXPECT_FALSE(world.bound);
    world.api.erase<core::Pod>({info.namespace_, info.name});
    world.loop.advance(1s);
    ASSERT_TRUE(world.bound);
    EXPECT_TRUE(world.bound->error().message.ends_with("binding volumes: pod does not exist any more")) << world.bound->error().message;
}

TEST(VolumeBinding, GivesUpOnAVolumeThatDoesNotCome) {
    VolumeWorld world;
    world.put_claim("data", "late");
    world.pre_bind(pod_with({"data"}), "b1");
    world.loop.advance(10min);
    ASSERT_TRUE(world.bound);
    EXPECT_TRUE(world.bound->error().message.starts_with("running PreBind plugin \"VolumeBinding\": "));
    EXPECT_TRUE(world.bound->error().message.contains("binding volumes"));
}

}  // namespace
}  // namespace porthole::scheduler
