#include "controllers/persistent_volume/volume_attributes_class_protection.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;
using api::storage::v1::VolumeAttributesClass;

struct VolumeAttributesClassProtectionTest : SimWorld {
    VolumeAttributesClassProtectionTest() {
        VolumeAttributesClass gold;
        gold.metadata.name = "gold";
        gold.driver_name = "csi.example.test";
        api.put(gold);
        run<VolumeAttributesClassProtection>();
        pass(1s);
    }
    bool exists() { return api.find<VolumeAttributesClass>({"", "gold"}).has_value(); }
    void put_claim(const std::function<void(PersistentVolumeClaim&)>& use) {
        PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = "c";
        use(claim);
        api.put(claim);
        pass(1s);
    }
};

TEST_F(VolumeAttributesClassProtectionTest, AnUnusedClassIsDeletedAtOnce) {
    EXPECT_EQ((api.find<VolumeAttributesClass>({"", "gold"})->metadata.finalizers),
              std::vector<std::string>{"kubernetes.io/vac-protection"});
    api.remove<VolumeAttributesClass>({"", "gold"});
    pass(1s);
    EXPECT_FALSE(exists());
}

TEST_F(VolumeAttributesClassProtectionTest, StaysWhileAClaimHasWantsOrIsGettingIt) {
    put_claim([](PersistentVolumeClaim& claim) { claim.spec.volume_attributes_class_name = "gold"; });
    api.remove<VolumeAttributesClass>({"", "gold"});
    pass(1s);
    EXPECT_TRUE(exists());
    put_claim(
        [](PersistentVolumeClaim& claim) { claim.status.modify_volume_status.emplace().target_volume_attributes_class_name = "gold"; });
    EXPECT_TRUE(exists());
    put_claim([](PersistentVolumeClaim& claim) { claim.status.current_volume_attributes_class_name = "gold"; });
    EXPECT_TRUE(exists());
    put_claim([](PersistentVolumeClaim&) {});
    EXPECT_FALSE(exists());
}

TEST_F(VolumeAttributesClassProtectionTest, StaysWhileAVolumeHasIt) {
    PersistentVolume volume;
    volume.metadata.name = "v";
    volume.spec.volume_attributes_class_name = "gold";
    api.put(volume);
    pass(1s);
    api.remove<VolumeAttributesClass>({"", "gold"});
    pass(1s);
    EXPECT_TRUE(exists());
    api.erase<PersistentVolume>({"", "v"});
    pass(1s);
    EXPECT_FALSE(exists());
}

}  // namespace
}  // namespace porthole::controllers
