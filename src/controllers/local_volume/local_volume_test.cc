#include "controllers/local_volume/local_volume.h"
#include "controllers/local_volume/local_capacity.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "objects/local_volume.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;
namespace local_volume = objects::local_volume;
using api::storage::v1::StorageClass;

/// A node with room for 10Gi, and a class.
struct LocalVolumeTest : SimWorld {
    LocalVolumeTest() {
        Node node;
        node.metadata.name = "n1";
        node.metadata.labels["kubernetes.io/hostname"] = "host-1";
        node.status.allocatable["ephemeral-storage"] = *Quantity::parse("10Gi");
        api.put(node);
        put_class("local");
    }
    void put_class(const std::string& name, const std::function<void(StorageClass&)>& change = {}) {
        StorageClass made;
        made.metadata.name = name;
        made.provisioner = local_volume::Driver;
        made.volume_binding_mode = "WaitForFirstConsumer";
        made.reclaim_policy = "Delete";
        if (change) change(made);
        api.put(made);
    }
    /// As the scheduler and the binder leave it.
    PersistentVolumeClaim claim(const std::string& name, const char* size, const std::string& storage_class = "local") {
        PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        claim.metadata.annotations = {{"volume.kubernetes.io/selected-node", "n1"},
                                      {"volume.kubernetes.io/storage-provisioner", local_volume::Driver}};
        claim.spec.storage_class_name = storage_class;
        claim.spec.access_modes = {"ReadWriteOnce"};
        claim.spec.resources.requests["storage"] = *Quantity::parse(size);
        return claim;
    }
    std::optional<PersistentVolume> volume_of(const std::string& name) {
        return api.find<PersistentVolume>({"", "pvc-" + api.find<PersistentVolumeClaim>({"ns", name})->metadata.uid});
    }
    bool is_selected(const std::string& name) {
        return api.find<PersistentVolumeClaim>({"ns", name})->metadata.annotations.contains("volume.kubernetes.io/selected-node");
    }
    /// Puts a volume of the driver that is being deleted.
    void put_deleted(const std::string& name, const std::string& node) {
        PersistentVolume volume;
        volume.metadata.name = name;
        volume.metadata.labels[local_volume::NodeLabel] = node;
        volume.metadata.finalizers = {local_volume::Finalizer};
        volume.metadata.deletion_timestamp = Timestamp(loop.wall_now());
        volume.spec.csi.emplace().driver = local_volume::Driver;
        volume.status.phase = "Released";
        api.put(volume);
    }
};

TEST_F(LocalVolumeTest, MakesAVolumeOnTheNodeThatTheSchedulerHasSelected) {  // STO-19
    auto waiting = claim("c", "3Gi");
    waiting.metadata.annotations.erase("volume.kubernetes.io/selected-node");
    api.put(waiting);
    run<LocalVolumeProvisioner>();
    pass(1s);
    EXPECT_FALSE(volume_of("c")) << "no pod yet";
    api.put(claim("c", "3Gi"));
    pass(1s);
    const auto made = volume_of("c");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->spec.capacity.at("storage"), *Quantity::parse("3Gi"));
    EXPECT_EQ(made->spec.claim_ref->name, "c");
    EXPECT_EQ(made->spec.csi->volume_handle, made->metadata.name);
    EXPECT_EQ(made->spec.persistent_volume_reclaim_policy, "Delete");
    EXPECT_EQ(made->spec.storage_class_name, "local");
    EXPECT_EQ(made->metadata.annotations.at("pv.kubernetes.io/provisioned-by"), local_volume::Driver);
    const auto& term = made->spec.node_affinity->required->node_selector_terms.at(0).match_expressions.at(0);
    EXPECT_EQ(term.key + " " + term.values.at(0), "kubernetes.io/hostname host-1");
    EXPECT_EQ(local_volume::node_of(*made), "n1");
    EXPECT_TRUE(has_event("ProvisioningSucceeded: Successfully provisioned volume " + made->metadata.name));
}

TEST_F(LocalVolumeTest, LeavesOtherProvisionersAlone) {
    put_class("other", [](StorageClass& other) { other.provisioner = "csi.example.test"; });
    auto asking = claim("c", "1Gi", "other");
    asking.metadata.annotations["volume.kubernetes.io/storage-provisioner"] = "csi.example.test";
    api.put(asking);
    run<LocalVolumeProvisioner>();
    pass(1s);
    EXPECT_TRUE(events().empty());
    EXPECT_TRUE(api.list<PersistentVolume>("").empty());
}

TEST_F(LocalVolumeTest, ANodeWithoutRoomGivesTheClaimBackToTheScheduler) {
    api.put(claim("big", "8Gi"));
    run<LocalVolumeProvisioner>();
    pass(1s);
    ASSERT_TRUE(volume_of("big"));
    api.put(claim("more", "4Gi"));
    pass(1s);
    EXPECT_FALSE(volume_of("more"));
    EXPECT_FALSE(is_selected("more"));
    EXPECT_TRUE(has_event("ProvisioningFailed: not enough free storage on node \"n1\": 4Gi requested, 2Gi left by other volumes"));
    auto lost = claim("lost", "1Gi");
    lost.metadata.annotations["volume.kubernetes.io/selected-node"] = "gone";
    api.put(lost);
    pass(1s);
    EXPECT_FALSE(is_selected("lost"));
}

TEST_F(LocalVolumeTest, SaysWhatItCannotMake) {
    put_class("early", [](StorageClass& one) { one.volume_binding_mode = "Immediate"; });
    put_class("odd", [](StorageClass& one) { one.parameters["colour"] = "red"; });
    put_class("wrong", [](StorageClass& one) { one.parameters["sizeEnforcement"] = "maybe"; });
    auto block = claim("block", "1Gi");
    block.spec.volume_mode = "Block";
    auto shared = claim("shared", "1Gi");
    shared.spec.access_modes = {"ReadWriteMany"};
    auto chosen = claim("chosen", "1Gi");
    chosen.spec.selector.emplace();
    for (const auto& one :
         {block, shared, chosen, claim("early", "1Gi", "early"), claim("odd", "1Gi", "odd"), claim("wrong", "1Gi", "wrong")})
        api.put(one);
    run<LocalVolumeProvisioner>();
    pass(1s);
    EXPECT_TRUE(api.list<PersistentVolume>("").empty());
    const std::string begin = "ProvisioningFailed: failed to provision volume with StorageClass ";
    EXPECT_TRUE(has_event(begin + "\"local\": volumeMode Block is not supported"));
    EXPECT_TRUE(has_event(begin + "\"local\": access mode ReadWriteMany is not supported: the volume is on one node"));
    EXPECT_TRUE(has_event(begin + "\"local\": claim Selector is not supported"));
    EXPECT_TRUE(has_event(begin + "\"early\": volumeBindingMode must be WaitForFirstConsumer: the volume is on the node of the first pod"));
    EXPECT_TRUE(has_event(begin + "\"odd\": parameter \"colour\" is not supported"));
    EXPECT_TRUE(has_event(begin + "\"wrong\": parameter sizeEnforcement must be Required or BestEffort"));
}

TEST_F(LocalVolumeTest, DeletesReleasedVolumesUnlessTheyAreToBeKept) {
    api.put(claim("c", "1Gi"));
    run<LocalVolumeProvisioner>();
    pass(1s);
    PersistentVolume kept = *volume_of("c");
    const std::string name = kept.metadata.name;
    kept.metadata.name = "kept";
    kept.metadata.uid.clear();
    kept.spec.persistent_volume_reclaim_policy = "Retain";
    kept.status.phase = "Released";
    api.put(kept);
    api.change<PersistentVolume>({"", name}, [](auto& volume) { volume.status.phase = "Released"; });
    pass(1s);
    EXPECT_TRUE(api.find<PersistentVolume>({"", name})->metadata.deletion_timestamp) << "its node deletes the data first";
    EXPECT_FALSE(api.find<PersistentVolume>({"", "kept"})->metadata.deletion_timestamp);
}

TEST_F(LocalVolumeTest, TheDataOfANodeThatIsGoneHoldNoVolume) {
    put_deleted("here", "n1");
    put_deleted("nowhere", "n2");
    run<LocalVolumeProvisioner>();
    pass(1s);
    const auto is_held = [&](const char* name) {
        const auto found = api.find<PersistentVolume>({"", name});
        return found && !found->metadata.finalizers.empty();
    };
    EXPECT_TRUE(is_held("here"));
    EXPECT_FALSE(is_held("nowhere"));
    api.erase<Node>({"", "n1"});
    pass(1s);
    EXPECT_FALSE(is_held("here"));
}

TEST_F(LocalVolumeTest, TheRoomOfEachNodeIsPublishedForEachClass) {
    using Capacity = api::storage::v1::CSIStorageCapacity;
    put_class("other", [](StorageClass& other) { other.provisioner = "csi.example.test"; });
    const auto published = [this] {
        std::string all;
        for (const Capacity& one : api.list<Capacity>("kube-system"))
            all += one.storage_class_name + " " + one.node_topology->match_labels.at("kubernetes.io/hostname") + " " +
                   one.capacity->to_string() + "\n";
        return all;
    };
    const auto change_node = [this](const std::function<void(Node&)>& change) {
        api.change<Node>({"", "n1"}, change);
        pass(2s);
    };
    run<LocalVolumeProvisioner>();
    run<LocalCapacityPublisher>();
    pass(2s);
    EXPECT_EQ(published(), "local host-1 10Gi\n");
    api.put(claim("c", "3Gi"));
    pass(2s);
    EXPECT_EQ(published(), "local host-1 7Gi\n");
    change_node([](Node& node) { node.status.allocatable["ephemeral-storage"] = *Quantity::parse("2Gi"); });
    EXPECT_EQ(published(), "local host-1 0\n") << "never less than nothing";
    change_node([](Node& node) { node.status.allocatable.clear(); });
    EXPECT_EQ(published(), "local host-1 0\n") << "a node that has only registered";
    change_node([](Node& node) { node.status.allocatable["cpu"] = *Quantity::parse("1"); });
    EXPECT_EQ(published(), "local host-1 9223372036854775807\n") << "a node that does not report its storage";
    const std::string before = api.list<Capacity>("kube-system").at(0).metadata.resource_version;
    change_node([](Node& node) { node.status.node_info.boot_id = "x"; });
    EXPECT_EQ(api.list<Capacity>("kube-system").at(0).metadata.resource_version, before);
    change_node([](Node& node) { node.metadata.labels["kubernetes.io/hostname"] = "host-2"; });
    EXPECT_EQ(published(), "local host-2 9223372036854775807\n");
    api.change<Capacity>({"kube-system", api.list<Capacity>("kube-system").at(0).metadata.name},
                         [](Capacity& one) { one.capacity = *Quantity::parse("1Gi"); });
    pass(2s);
    EXPECT_EQ(published(), "local host-2 9223372036854775807\n");
    put_class("another");
    pass(2s);
    EXPECT_EQ(api.list<Capacity>("kube-system").size(), 2u);
    api.remove<StorageClass>({"", "another"});
    pass(2s);
    EXPECT_EQ(published(), "local host-2 9223372036854775807\n");
    api.remove<Node>({"", "n1"});
    pass(2s);
    EXPECT_EQ(published(), "");
}

}  // namespace
}  // namespace porthole::controllers
