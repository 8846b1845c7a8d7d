#include "controllers/persistent_volume/volume_protection.h"

#include "controllers/framework/sim/sim_world.h"
#include "controllers/persistent_volume/ephemeral_volumes.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

struct VolumeProtectionTest : SimWorld {
    void put_claim(const std::string& name) {
        PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        claim.metadata.finalizers = {"kubernetes.io/pvc-protection"};
        api.put(claim);
    }
    void put_pod(const std::string& name, const std::string& claim, const std::string& node = "n") {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.spec.volumes.emplace_back().name = "v";
        pod.spec.volumes[0].persistent_volume_claim.emplace().claim_name = claim;
        pod.spec.node_name = node;
        pod.status.phase = "Running";
        api.put(pod);
    }
    template <class T>
    void start_deleting(const client::NamespacedName& key) {
        api.change<T>(key, [this](T& object) { object.metadata.deletion_timestamp = Timestamp(loop.wall_now()); });
        pass(1s);
    }
    bool is_held(const std::string& claim) {
        const auto found = api.find<PersistentVolumeClaim>({"ns", claim});
        return found && !found->metadata.finalizers.empty();
    }
};

TEST_F(VolumeProtectionTest, AClaimStaysUntilItsLastPodIsDeleted) {
    put_claim("used");
    put_claim("idle");
    put_pod("p", "used");
    run<ClaimProtection>();
    start_deleting<PersistentVolumeClaim>({"ns", "used"});
    start_deleting<PersistentVolumeClaim>({"ns", "idle"});
    EXPECT_TRUE(is_held("used"));
    EXPECT_FALSE(is_held("idle"));
    set_phase({"ns", "p"}, "Succeeded");
    pass(1s);
    EXPECT_TRUE(is_held("used")) << "a pod that has ended may be looked into";
    api.erase<Pod>({"ns", "p"});
    pass(1s);
    EXPECT_FALSE(is_held("used"));
}

TEST_F(VolumeProtectionTest, APodWithoutANodeHoldsNoClaim) {
    put_claim("wanted");
    put_pod("p", "wanted", "");
    run<ClaimProtection>();
    start_deleting<PersistentVolumeClaim>({"ns", "wanted"});
    EXPECT_FALSE(is_held("wanted"));
}

TEST_F(VolumeProtectionTest, AVolumeStaysWhileAClaimHasIt) {
    PersistentVolume volume;
    volume.metadata.name = "v";
    volume.metadata.finalizers = {"kubernetes.io/pv-protection"};
    volume.status.phase = "Bound";
    api.put(volume);
    run<VolumeProtection>();
    start_deleting<PersistentVolume>({"", "v"});
    EXPECT_FALSE(api.find<PersistentVolume>({"", "v"})->metadata.finalizers.empty());
    api.change<PersistentVolume>({"", "v"}, [](auto& volume) { volume.status.phase = "Released"; });
    pass(1s);
    const auto left = api.find<PersistentVolume>({"", "v"});
    EXPECT_TRUE(!left || left->metadata.finalizers.empty());
}

TEST_F(VolumeProtectionTest, WhatHasNoFinalizerGetsOne) {
    PersistentVolumeClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = "bare";
    api.put(claim);
    PersistentVolume volume;
    volume.metadata.name = "v";
    api.put(volume);
    run<ClaimProtection>();
    run<VolumeProtection>();
    pass(1s);
    EXPECT_TRUE(is_held("bare"));
    EXPECT_EQ((api.find<PersistentVolume>({"", "v"})->metadata.finalizers), std::vector<std::string>{"kubernetes.io/pv-protection"});
}

TEST_F(VolumeProtectionTest, EphemeralVolumesGetClaimsThatBelongToTheirPod) {
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "p";
    pod.spec.volumes.emplace_back().name = "scratch";
    auto& wanted = pod.spec.volumes[0].ephemeral.emplace().volume_claim_template.emplace();
    wanted.metadata.labels["a"] = "b";
    wanted.spec.resources.requests["storage"] = *Quantity::parse("1Gi");
    api.put(pod);
    run<EphemeralVolumeController>();
    const auto made = api.find<PersistentVolumeClaim>({"ns", "p-scratch"});
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->metadata.owner_references.at(0).uid, (api.find<Pod>({"ns", "p"})->metadata.uid));
    EXPECT_EQ(made->metadata.labels.at("a"), "b");

    PersistentVolumeClaim foreign;
    foreign.metadata.namespace_ = "ns";
    foreign.metadata.name = "q-scratch";
    api.put(foreign);
    pod.metadata.name = "q";
    pod.metadata.uid.clear();
    api.put(pod);
    pass(1s);
    EXPECT_TRUE(has_event("FailedBinding: ephemeral volume scratch: PVC ns/q-scratch was not created for pod ns/q (pod is not owner)"));

    for (const char* name : {"p-scratch", "q-scratch"}) api.erase<PersistentVolumeClaim>({"ns", name});
    pass(1s);
    for (const char* name : {"p-scratch", "q-scratch"})
        EXPECT_TRUE((api.find<PersistentVolumeClaim>({"ns", name}).has_value())) << name << " was needed";
}

TEST_F(VolumeProtectionTest, APodIsToldWhyTheClaimOfItsVolumeIsRefused) {
    Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "p";
    pod.spec.volumes.emplace_back().name = "scratch";
    pod.spec.volumes[0].ephemeral.emplace().volume_claim_template.emplace();
    api.put(pod);
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "POST" || !request.path.ends_with("/persistentvolumeclaims")) return std::nullopt;
        return Error(Reason::Forbidden, "exceeded quota: q");
    });
    run<EphemeralVolumeController>();
    EXPECT_TRUE(has_event("FailedBinding: ephemeral volume scratch: create PVC p-scratch: exceeded quota: q"));
    api.set_fault({});
    pass(10s);
    EXPECT_TRUE((api.find<PersistentVolumeClaim>({"ns", "p-scratch"}).has_value()));
}

}  // namespace
}  // namespace porthole::controllers
