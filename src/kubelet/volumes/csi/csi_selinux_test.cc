// Volumes of CSI drivers on a machine with SELinux, which is simulated: only its files are there.
#include "kubelet/volumes/csi/csi_volumes_fixture.h"
#include "kubelet/volumes/selinux/selinux_fixture.h"
#include "runtime/sim/memory_file_system.h"

namespace porthole::kubelet {
namespace {

constexpr const char* Option = R"(context=\"system_u:object_r:container_file_t:s0:c1,c2\")";

struct CsiSelinuxTest : CsiVolumesTest {
    CsiSelinuxTest() {
        put_selinux(machine, SelinuxMounts);
        selinux = std::make_unique<SelinuxContexts>(Selinux::find(machine), false);
        set_driver_object([](CSIDriverSpec& spec) {
            spec.attach_required = false;
            spec.se_linux_mount = true;
        });
    }
    ~CsiSelinuxTest() override { stop(); }
    void put_claim_of(const std::string& mode) {
        put_claim([&](core::PersistentVolume& volume) {
            volume.spec.access_modes = {mode};
            volume.spec.mount_options = {"noatime"};
        });
    }
    /// Sets up the volume of a pod at `level`. Whether the runtime is to relabel it, or the error.
    std::string set_up_at(const std::string& uid, const std::string& level) {
        const auto wanted = std::make_shared<const core::Pod>(selinux_pod(uid, level));
        EXPECT_TRUE(machine.create_directories(root() + "/pods/" + uid + "/volumes/kubernetes.io~csi/pv1", 0755));
        const auto mounted = run(manager->set_up(wanted, {}));
        if (!mounted) return mounted.error().message;
        const auto mounts = run(manager->mounts_for(*wanted, wanted->spec.containers[0], *mounted, {}, false));
        return mounts->at(0).selinux_relabel ? "relabelled" : "as it is";
    }
    porthole::sim::MemoryFileSystem machine{loop};
};

TEST_F(CsiSelinuxTest, AVolumeForOnePodIsStagedAndPublishedWithItsContext) {
    start();
    put_claim_of("ReadWriteOncePod");
    ASSERT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is");
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr(std::string(R"(["noatime",")") + Option));
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr(Option));
    EXPECT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is") << "in a later sync";
    EXPECT_EQ(driver->count("NodePublishVolume"), 1u);
}

TEST_F(CsiSelinuxTest, OtherVolumesAreLeftToTheRuntime) {
    start();
    put_claim_of("ReadWriteOnce");
    EXPECT_EQ(set_up_at("u1", "s0:c1,c2"), "relabelled");
    EXPECT_THAT(last("NodeStageVolume"), Not(HasSubstr("context=")));
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_TRUE(unstaged());
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; });
    put_claim_of("ReadWriteOncePod");
    EXPECT_EQ(set_up_at("u2", "s0:c1,c2"), "relabelled") << "the driver does not take contexts";
    EXPECT_THAT(last("NodePublishVolume"), Not(HasSubstr("context=")));
}

TEST_F(CsiSelinuxTest, AFileSystemWithoutLabelsIsNotRelabelled) {
    put_selinux(machine, std::string(SelinuxMounts) + "30 22 0:30 / " + root() + " rw - nfs4 server:/ rw\n");
    start();
    put_claim_of("ReadWriteOnce");
    EXPECT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is");
    EXPECT_THAT(last("NodeStageVolume"), Not(HasSubstr("context=")));
}

TEST_F(CsiSelinuxTest, ARestartedKubeletPublishesWithTheContextThatTheVolumeHas) {
    start();
    put_claim_of("ReadWriteOncePod");
    ASSERT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is");
    stop_kubelet();
    selinux = std::make_unique<SelinuxContexts>(Selinux::find(machine), false);
    start_kubelet();
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; });  // takes no contexts any longer
    EXPECT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is");
    EXPECT_EQ(driver->count("NodePublishVolume"), 2u);
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr(Option));
}

TEST_F(CsiSelinuxTest, AnotherPodWithAnotherLabelIsToldOfTheConflict) {
    start();
    put_claim_of("ReadWriteOncePod");
    ASSERT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is");
    EXPECT_EQ(set_up_at("u2", "s0:c3"),
              "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: "
              "conflicting SELinux labels of volume pv1: \"system_u:object_r:container_file_t:s0:c1,c2\" and "
              "\"system_u:object_r:container_file_t:s0:c3\"");
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_TRUE(unstaged());
    EXPECT_EQ(set_up_at("u2", "s0:c3"), "as it is");
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr("s0:c3"));
}

TEST_F(CsiSelinuxTest, APodThatWaitsWithTheSameLabelGetsTheVolumeAsItIsStaged) {
    start();
    put_claim_of("ReadWriteOncePod");
    ASSERT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is");
    stop_kubelet();
    start_kubelet();
    EXPECT_THAT(set_up_at("u2", "s0:c1,c2"), HasSubstr("ReadWriteOncePod access mode and is already in use by another pod"));
    ASSERT_EQ(set_up_at("u1", "s0:c1,c2"), "as it is") << "the first pod has it, and the second only waits";
    driver->calls.clear();
    EXPECT_EQ(tear_down("u1"), "");
    settle();
    EXPECT_EQ(set_up_at("u2", "s0:c1,c2"), "as it is");
    EXPECT_THAT(methods(), ElementsAre("NodeUnpublishVolume", "NodePublishVolume"));
}

}  // namespace
}  // namespace porthole::kubelet
