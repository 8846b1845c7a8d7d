#include "controllers/persistent_volume/volume_expander.h"

#include "controllers/framework/sim/sim_world.h"
#include "objects/local_volume.h"
#include "objects/owners.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

struct VolumeExpanderTest : SimWorld {
    /// A bound claim for 1Gi that asks for 2Gi now.
    void put_grown(const std::string& name, const std::string& driver) {
        PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "ns";
        claim.metadata.name = name;
        claim.spec.volume_name = "v-" + name;
        claim.spec.resources.requests["storage"] = *Quantity::parse("2Gi");
        claim.status.phase = "Bound";
        claim.status.capacity["storage"] = *Quantity::parse("1Gi");
        const auto stored = api.put(claim);
        PersistentVolume volume;
        volume.metadata.name = "v-" + name;
        volume.spec.capacity["storage"] = *Quantity::parse("1Gi");
        volume.spec.claim_ref = objects::object_reference(stored);
        volume.spec.csi.emplace().driver = driver;
        api.put(volume);
    }
    std::string capacity(const std::string& name) {
        return api.find<PersistentVolume>({"", "v-" + name})->spec.capacity.at("storage").to_string();
    }
};

TEST_F(VolumeExpanderTest, TellsTheVolumeItsNewSizeAndLeavesTheRestToTheNode) {  // STO-19
    put_grown("c", objects::local_volume::Driver);
    run<VolumeExpander>();
    pass(1s);
    EXPECT_EQ(capacity("c"), "2Gi");
    const auto status = api.find<PersistentVolumeClaim>({"ns", "c"})->status;
    EXPECT_EQ(status.conditions.at(0).type, "FileSystemResizePending");
    EXPECT_EQ(status.allocated_resource_statuses.at("storage"), "NodeResizePending");
    EXPECT_EQ(status.capacity.at("storage"), *Quantity::parse("1Gi")) << "the file system is still small";
    pass(1min);
    EXPECT_EQ((api.find<PersistentVolumeClaim>({"ns", "c"})->status.conditions.size()), 1u);
}

TEST_F(VolumeExpanderTest, OtherDriversExpandThemselves) {
    put_grown("c", "csi.example.test");
    run<VolumeExpander>();
    pass(1s);
    EXPECT_EQ(capacity("c"), "1Gi");
    EXPECT_TRUE(has_event("ExternalExpanding: waiting for an external controller to expand this PVC"));
}

TEST_F(VolumeExpanderTest, InTreeVolumesAreExpandedByTheDriverThatTookOver) {
    put_grown("c", "unused");
    api.change<PersistentVolume>({"", "v-c"}, [](PersistentVolume& volume) {
        volume.spec.csi.reset();
        volume.spec.cinder.emplace().volume_id = "id";
    });
    run<VolumeExpander>();
    pass(1s);
    EXPECT_TRUE(
        has_event("ExternalExpanding: CSI migration enabled for kubernetes.io/cinder; waiting for external resizer to expand the pvc"));
    EXPECT_EQ((api.find<PersistentVolumeClaim>({"ns", "c"})->metadata.annotations.at("volume.kubernetes.io/storage-resizer")),
              "cinder.csi.openstack.org");
}

}  // namespace
}  // namespace porthole::controllers
