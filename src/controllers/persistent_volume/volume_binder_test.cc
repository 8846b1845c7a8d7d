#include "controllers/persistent_volume/volume_binder.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "objects/owners.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;
using api::storage::v1::StorageClass;

struct VolumeBinderTest : SimWorld {
    PersistentVolume volume(const std::string& name, const char* size, const std::string& storage_class = "") {
        PersistentVolume volume;
        volume.metadata.name = name;
        volume.spec.capacity["storage"] = *Quantity::parse(size);
        volume.spec.access_modes = {"ReadWriteOnce"};
        volume.spec.storage_class_name = storage_class;
        volume.spec.persistent_volume_reclaim_policy = "Retain";
        return volume;
    }
    PersistentVolumeClaim claim(const std::string& name, const char* size, const std::string& storage_class = "") {
        PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        claim.spec.resources.requests["storage"] = *Quantity::parse(size);
        claim.spec.access_modes = {"ReadWriteOnce"};
        if (!storage_class.empty()) claim.spec.storage_class_name = storage_class;
        claim.status.phase = "Pending";
        return claim;
    }
    void put_class(const std::string& name, const std::string& provisioner, const std::string& mode = "Immediate") {
        StorageClass made;
        made.metadata.name = name;
        made.provisioner = provisioner;
        made.volume_binding_mode = mode;
        api.put(made);
    }
    void put_node(const std::string& name) {
        Node node;
        node.metadata.name = name;
        node.metadata.labels["kubernetes.io/hostname"] = name;
        api.put(node);
    }
    /// The volume is a disk of that node.
    static void keep_on(PersistentVolume& volume, const std::string& node) {
        NodeSelectorTerm term;
        term.match_expressions.push_back({.key = "kubernetes.io/hostname", .operator_ = "In", .values = {node}});
        volume.spec.node_affinity.emplace().required.emplace().node_selector_terms = {term};
    }
    PersistentVolumeClaim claim_now(const std::string& name) { return *api.find<PersistentVolumeClaim>({"ns", name}); }
    PersistentVolume volume_now(const std::string& name) { return *api.find<PersistentVolume>({"", name}); }
    /// Whether there is an event that begins so.
    bool told_of(const std::string& begin) const {
        return std::ranges::any_of(events(), [&](const std::string& event) { return event.starts_with(begin); });
    }
    /// "claim -> volume" with both phases.
    std::string state(const std::string& name) {
        const auto claim = claim_now(name);
        const std::string& bound = claim.spec.volume_name;
        return claim.status.phase + (bound.empty() ? "" : " " + bound + " " + volume_now(bound).status.phase);
    }
};

TEST_F(VolumeBinderTest, GivesAClaimTheSmallestVolumeThatFits) {
    api.put(volume("big", "10Gi"));
    api.put(volume("right", "5Gi"));
    api.put(volume("small", "1Gi"));
    api.put(claim("c", "3Gi"));
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Bound right Bound");
    EXPECT_EQ(volume_now("big").status.phase, "Available");
    EXPECT_EQ(volume_now("right").spec.claim_ref->uid, claim_now("c").metadata.uid);
    EXPECT_EQ(claim_now("c").status.capacity.at("storage"), *Quantity::parse("5Gi"));
    EXPECT_EQ(claim_now("c").metadata.annotations.at("pv.kubernetes.io/bind-completed"), "yes");
}

TEST_F(VolumeBinderTest, AVolumeOfNoMoreAccessModesThanAskedForIsPreferred) {
    auto shared = volume("shared", "5Gi");
    shared.spec.access_modes = {"ReadWriteOnce", "ReadWriteMany"};
    api.put(shared);
    api.put(volume("exact", "10Gi"));
    api.put(claim("c", "3Gi"));
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Bound exact Bound");
    api.put(claim("d", "3Gi"));
    pass(1s);
    EXPECT_EQ(state("d"), "Bound shared Bound");
}

TEST_F(VolumeBinderTest, AnOldAnnotationNamesTheClassToo) {
    put_class("standard", "csi.example.com");
    api.change<StorageClass>({"", "standard"},
                             [](auto& made) { made.metadata.annotations["storageclass.kubernetes.io/is-default-class"] = "true"; });
    constexpr const char* Annotation = "volume.beta.kubernetes.io/storage-class";
    PersistentVolume slow = volume("slow", "5Gi");
    slow.metadata.annotations[Annotation] = "slow";
    api.put(slow);
    for (const auto& [name, storage_class] : {std::pair("c", "slow"), std::pair("none", "")}) {
        PersistentVolumeClaim made = claim(name, "1Gi");
        made.metadata.annotations[Annotation] = storage_class;
        api.put(made);
    }
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Bound slow Bound");
    EXPECT_EQ(state("none"), "Pending");
    EXPECT_FALSE(claim_now("none").spec.storage_class_name) << "it wants none, not the default one";
}

TEST_F(VolumeBinderTest, LooksAtClassModesLabelsAndVolumeMode) {
    auto many = volume("shared", "5Gi");
    many.spec.access_modes = {"ReadWriteMany"};
    auto block = volume("block", "5Gi");
    block.spec.volume_mode = "Block";
    auto labeled = volume("labelled", "9Gi");
    labeled.metadata.labels["disk"] = "ssd";
    for (const auto& made : {many, block, volume("classy", "5Gi", "fast"), labeled}) api.put(made);
    auto choosy = claim("choosy", "1Gi");
    choosy.spec.selector.emplace().match_labels = {{"disk", "ssd"}};
    auto classy = claim("fast", "1Gi", "fast");
    put_class("fast", "kubernetes.io/no-provisioner");
    api.put(choosy);
    api.put(classy);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("choosy"), "Bound labelled Bound");
    EXPECT_EQ(state("fast"), "Bound classy Bound");
    api.put(claim("plain", "1Gi"));
    pass(1s);
    EXPECT_EQ(state("plain"), "Pending") << "what is left has other modes";
    EXPECT_TRUE(has_event("FailedBinding: no persistent volumes available for this claim and no storage class is set"));
}

TEST_F(VolumeBinderTest, TwoClaimsNeverShareAVolumeAndTheSecondWaitsForAnother) {
    api.put(volume("only", "5Gi"));
    api.put(claim("a", "1Gi"));
    api.put(claim("b", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    const bool a_first = state("a") == "Bound only Bound";
    EXPECT_EQ(state(a_first ? "b" : "a"), "Pending");
    api.put(volume("another", "5Gi"));
    pass(1s);
    EXPECT_EQ(state(a_first ? "b" : "a"), "Bound another Bound");
}

TEST_F(VolumeBinderTest, AVolumeKeptForAClaimGoesToNobodyElse) {
    auto kept = volume("kept", "1Gi", "whatever");
    kept.spec.claim_ref.emplace();
    kept.spec.claim_ref->namespace_ = "ns";
    kept.spec.claim_ref->name = "mine";
    api.put(kept);
    api.put(claim("other", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("other"), "Pending");
    EXPECT_EQ(volume_now("kept").status.phase, "Available");
    api.put(claim("mine", "1Gi"));
    pass(1s);
    EXPECT_EQ(state("mine"), "Bound kept Bound");
}

TEST_F(VolumeBinderTest, AClaimMayAskForOneVolumeByName) {
    api.put(volume("small", "1Gi"));
    api.put(volume("wanted", "9Gi"));
    auto asking = claim("c", "1Gi");
    asking.spec.volume_name = "wanted";
    api.put(asking);
    auto late = claim("late", "1Gi");
    late.spec.volume_name = "wanted";
    api.put(late);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c") == "Bound wanted Bound", state("late") != "Bound wanted Bound") << "one of them has it";
    EXPECT_TRUE(has_event("FailedBinding: volume \"wanted\" already bound to a different claim."));
}

TEST_F(VolumeBinderTest, FinishesABindingThatACrashLeftHalfDone) {
    api.put(claim("c", "1Gi"));
    auto taken = volume("v", "1Gi");
    taken.spec.claim_ref = objects::object_reference(claim_now("c"));
    api.put(taken);
    api.put(volume("tempting", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Bound v Bound");
}

TEST_F(VolumeBinderTest, ReleasesAVolumeWhoseClaimIsGone) {
    api.put(volume("v", "1Gi"));
    auto doomed = volume("w", "5Gi");
    doomed.spec.persistent_volume_reclaim_policy = "Delete";
    api.put(doomed);
    api.put(claim("c", "1Gi"));
    api.put(claim("d", "5Gi"));
    run<VolumeBinder>();
    pass(1s);
    api.erase<PersistentVolumeClaim>({"ns", "c"});
    api.erase<PersistentVolumeClaim>({"ns", "d"});
    pass(1s);
    EXPECT_EQ(volume_now("v").status.phase, "Released");
    EXPECT_TRUE(volume_now("v").spec.claim_ref.has_value()) << "its data is still the old claim's";
    EXPECT_EQ(volume_now("w").status.phase, "Failed") << "nobody here can delete it";
    EXPECT_TRUE(has_event("VolumeFailedDelete: error getting deleter volume plugin for volume \"w\": no deletable volume plugin matched"));
    api.put(claim("c", "1Gi"));
    pass(1s);
    EXPECT_EQ(state("c"), "Pending") << "a namesake is another claim";
}

TEST_F(VolumeBinderTest, AClaimIsLostWithItsVolume) {
    api.put(volume("v", "1Gi"));
    api.put(claim("c", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    api.erase<PersistentVolume>({"", "v"});
    pass(1s);
    EXPECT_EQ(claim_now("c").status.phase, "Lost");
    EXPECT_TRUE(has_event("ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"));
}

TEST_F(VolumeBinderTest, WaitsForTheNodeOfTheFirstPodWhereTheClassSaysSo) {
    put_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    for (const char* name : {"n1", "n2"}) {
        put_node(name);
        auto disk = volume(std::string("disk-") + name, "5Gi", "local");
        keep_on(disk, name);
        api.put(disk);
    }
    api.put(claim("c", "1Gi", "local"));
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Pending");
    EXPECT_TRUE(has_event("WaitForFirstConsumer: waiting for first consumer to be created before binding"));
    api.change<PersistentVolumeClaim>({"ns", "c"},
                                      [](auto& claim) { claim.metadata.annotations["volume.kubernetes.io/selected-node"] = "n2"; });
    pass(1s);
    EXPECT_EQ(state("c"), "Bound disk-n2 Bound");
}

TEST_F(VolumeBinderTest, AsksTheProvisionerThatTheClassNames) {
    api.put(claim("c", "1Gi", "cloud"));
    run<VolumeBinder>();
    pass(1s);
    EXPECT_TRUE(has_event("ProvisioningFailed: storageclass.storage.k8s.io \"cloud\" not found"));
    put_class("cloud", "csi.example.test");
    pass(1s);
    EXPECT_EQ(claim_now("c").metadata.annotations.at("volume.kubernetes.io/storage-provisioner"), "csi.example.test");
    EXPECT_TRUE(told_of("ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'csi.example.test'"));
}

TEST_F(VolumeBinderTest, LeavesVolumesOfCsiDriversToTheirProvisioner) {
    auto disk = volume("v", "1Gi");
    disk.spec.persistent_volume_reclaim_policy = "Delete";
    disk.spec.csi.emplace() = {.driver = "csi.example.test", .volume_handle = "h"};
    api.put(disk);
    api.put(claim("c", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    api.erase<PersistentVolumeClaim>({"ns", "c"});
    pass(1s);
    EXPECT_EQ(volume_now("v").status.phase, "Released") << "its provisioner deletes it";
}

TEST_F(VolumeBinderTest, AVolumeThatWasMadeForAClaimWithAnotherIsReleased) {
    api.put(volume("v", "1Gi"));
    api.put(claim("c", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    auto late = volume("late", "1Gi");
    late.metadata.annotations["pv.kubernetes.io/provisioned-by"] = "csi.example.test";
    late.spec.persistent_volume_reclaim_policy = "Delete";
    late.spec.claim_ref = objects::object_reference(claim_now("c"));
    api.put(late);
    pass(1s);
    EXPECT_EQ(volume_now("late").status.phase, "Released");
    EXPECT_EQ(state("c"), "Bound v Bound");
}

TEST_F(VolumeBinderTest, AVolumeThatAPersonKeptForAClaimWithAnotherStaysKeptForItsName) {
    api.put(volume("v", "1Gi"));
    api.put(claim("c", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    auto kept = volume("kept", "1Gi");
    kept.spec.claim_ref = objects::object_reference(claim_now("c"));
    api.put(kept);
    pass(1s);
    EXPECT_EQ(volume_now("kept").status.phase, "Available");
    api.erase<PersistentVolumeClaim>({"ns", "c"});
    pass(1s);
    auto next = claim("c", "1Gi");
    api.put(next);
    pass(1s);
    EXPECT_EQ(state("c"), "Bound kept Bound");
}

TEST_F(VolumeBinderTest, AVolumeKeptForAClaimIsNotBoundWithoutItsAccessModes) {
    auto kept = volume("kept", "1Gi");
    kept.spec.claim_ref.emplace();
    kept.spec.claim_ref->namespace_ = "ns";
    kept.spec.claim_ref->name = "c";
    api.put(kept);
    auto shared = claim("c", "1Gi");
    shared.spec.access_modes = {"ReadWriteMany"};
    api.put(shared);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Pending");
}

TEST_F(VolumeBinderTest, AClaimThatIsNoLongerBoundHasNothingOfAVolume) {
    api.put(volume("v", "1Gi"));
    auto unbound = claim("c", "3Gi");
    unbound.status.phase = "Bound";
    unbound.status.access_modes = {"ReadWriteOnce"};
    unbound.status.capacity["storage"] = *Quantity::parse("3Gi");
    api.put(unbound);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Pending");
    EXPECT_TRUE(claim_now("c").status.capacity.empty());
    EXPECT_TRUE(claim_now("c").status.access_modes.empty());
}

TEST_F(VolumeBinderTest, AsksTheDriverThatTookOverFromAnInTreeProvisioner) {
    put_class("old", "kubernetes.io/aws-ebs");
    put_class("none", "kubernetes.io/no-provisioner");
    api.put(claim("c", "1Gi", "old"));
    api.put(claim("d", "1Gi", "none"));
    auto asked = claim("e", "1Gi", "old");
    asked.metadata.annotations["volume.beta.kubernetes.io/storage-provisioner"] = "kubernetes.io/aws-ebs";
    api.put(asked);
    auto made = volume("v", "1Gi", "old");
    made.metadata.annotations["pv.kubernetes.io/provisioned-by"] = "kubernetes.io/aws-ebs";
    made.metadata.finalizers = {"kubernetes.io/pv-controller", "kubernetes.io/pv-protection"};
    api.put(made);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(volume_now("v").metadata.annotations.at("pv.kubernetes.io/migrated-to"), "ebs.csi.aws.com");
    EXPECT_EQ(volume_now("v").metadata.finalizers, std::vector<std::string>{"kubernetes.io/pv-protection"});
    pass(1s);
    api.erase<PersistentVolume>({"", "v"});
    EXPECT_TRUE(told_of("ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com'"));
    EXPECT_TRUE(has_event("ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner"));
}

TEST_F(VolumeBinderTest, NamesThePodsThatWaitForANode) {
    put_class("late", "csi.example.test", "WaitForFirstConsumer");
    api.put(claim("c", "1Gi", "late"));
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "p";
    auto& data = pod.spec.volumes.emplace_back();
    data.name = "data";
    data.persistent_volume_claim.emplace().claim_name = "c";
    api.put(pod);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_TRUE(has_event("WaitForPodScheduled: waiting for pod p to be scheduled"));
}

TEST_F(VolumeBinderTest, SaysWhyAVolumeThatWasAskedForDoesNotFit) {
    auto block = volume("block", "5Gi");
    block.spec.volume_mode = "Block";
    auto tuned = volume("tuned", "5Gi");
    tuned.spec.volume_attributes_class_name = "gold";
    for (const auto& made : {volume("small", "1Gi"), volume("classy", "5Gi", "fast"), block, tuned}) {
        api.put(made);
        auto asking = claim("c-" + made.metadata.name, "3Gi");
        asking.spec.volume_name = made.metadata.name;
        api.put(asking);
    }
    auto shared = claim("shared", "1Gi");
    shared.spec.volume_name = "small";
    shared.spec.access_modes = {"ReadWriteMany"};
    api.put(shared);
    run<VolumeBinder>();
    pass(1s);
    for (const char* text :
         {"\"small\": requested PV is too small", "\"classy\": storageClassName does not match", "\"block\": incompatible volumeMode",
          "\"tuned\": volumeAttributesClassName does not match", "\"small\": incompatible accessMode"})
        EXPECT_TRUE(has_event(std::string("VolumeMismatch: Cannot bind to requested volume ") + text)) << text;
}

TEST_F(VolumeBinderTest, AClaimStartsWithTheAttributesOfItsVolume) {
    auto tuned = volume("tuned", "5Gi");
    tuned.spec.volume_attributes_class_name = "gold";
    api.put(tuned);
    api.put(volume("plain", "1Gi"));
    auto asking = claim("c", "1Gi");
    asking.spec.volume_attributes_class_name = "gold";
    api.put(asking);
    run<VolumeBinder>();
    pass(1s);
    EXPECT_EQ(state("c"), "Bound tuned Bound");
    EXPECT_EQ(claim_now("c").status.current_volume_attributes_class_name, "gold");
    api.change<PersistentVolume>({"", "tuned"}, [](auto& volume) { volume.spec.volume_attributes_class_name = "silver"; });
    pass(1s);
    EXPECT_EQ(claim_now("c").status.current_volume_attributes_class_name, "gold") << "from then on its resizer says so";
}

TEST_F(VolumeBinderTest, BindsAVolumeAgainThatHasComeUnbound) {
    api.put(volume("v", "1Gi"));
    api.put(claim("c", "1Gi"));
    run<VolumeBinder>();
    pass(1s);
    api.change<PersistentVolume>({"", "v"}, [](auto& volume) { volume.spec.claim_ref.reset(); });
    pass(1s);
    EXPECT_EQ(state("c"), "Bound v Bound");
    EXPECT_TRUE(volume_now("v").spec.claim_ref.has_value());
}

TEST_F(VolumeBinderTest, AClaimThatCameBeforeTheDefaultClassGetsIt) {
    api.put(claim("c", "1Gi"));
    auto none = claim("none", "1Gi");
    none.spec.storage_class_name = "";
    api.put(none);
    run<VolumeBinder>();
    pass(1s);
    StorageClass standard;
    standard.metadata.name = "standard";
    standard.metadata.annotations["storageclass.kubernetes.io/is-default-class"] = "true";
    standard.provisioner = "csi.example.test";
    standard.volume_binding_mode = "WaitForFirstConsumer";
    api.put(standard);
    pass(1s);
    EXPECT_EQ(claim_now("c").spec.storage_class_name, "standard");
    EXPECT_EQ(claim_now("none").spec.storage_class_name, "") << "asks for no class";
}

}  // namespace
}  // namespace porthole::controllers
