#include "kubelet/volumes/csi/csi_volumes_fixture.h"
#include "kubelet/volumes/framework/attach_limit.h"

namespace porthole::kubelet {
namespace {

TEST_F(CsiVolumesTest, AVolumeIsStagedOnceAndPublishedForEachPod) {
    start();
    put_claim();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    ASSERT_EQ(set_up(pod("u1", Claim)), "") << "a later sync of the pod";
    ASSERT_EQ(set_up(pod("u2", Claim)), "");
    EXPECT_THAT(methods(), ElementsAre("NodeStageVolume", "NodePublishVolume", "NodePublishVolume"));
    EXPECT_EQ(manager->find_mounted("u1")->at("v").path, root() + "/pods/u1/volumes/kubernetes.io~csi/pv1/mount");
    EXPECT_TRUE(exists("/pods/u1/volumes/kubernetes.io~csi/pv1/vol_data.json"));
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr("/k/plugins/kubernetes.io/csi/csi.example.com/"));
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr("/globalmount"));
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_FALSE(exists("/pods/u1"));
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 0u);
    EXPECT_EQ(tear_down("u2"), "");
    EXPECT_TRUE(unstaged());
    EXPECT_THAT(methods(), ElementsAre("NodeStageVolume", "NodePublishVolume", "NodePublishVolume", "NodeUnpublishVolume",
                                       "NodeUnpublishVolume", "NodeUnstageVolume"));
    EXPECT_THAT(folder.files->list(root() + "/plugins/kubernetes.io/csi/csi.example.com").value(), IsEmpty());
}

// STO-24
TEST_F(CsiVolumesTest, ADriverIsAskedToStageWhereItsLinkLeadsNowhere) {
    start();
    put_claim();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    const std::string above = root() + "/plugins/kubernetes.io/csi/csi.example.com";
    const std::string staged = above + "/" + folder.files->list(above).value().at(0) + "/globalmount";
    stop_kubelet();
    ASSERT_TRUE(folder.files->remove(staged));
    ASSERT_TRUE(folder.files->create_symlink("/a share that is away", staged));
    start_kubelet();
    EXPECT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_EQ(driver->count("NodeStageVolume"), 2u);
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_TRUE(unstaged()) << "the link goes with the volume";
}

TEST_F(CsiVolumesTest, WhatTheDriverMayKnowComesWithTheCalls) {
    set_driver_object([](CSIDriverSpec& spec) {
        spec.attach_required = false;
        spec.token_requests.emplace_back().audience = "vault";
    });
    options.capabilities.insert(NodeCapabilityType::VolumeMountGroup);
    start();
    secrets.secrets["s"].data = {{"password", "pw"}};
    put_claim([](core::PersistentVolume& volume) {
        volume.spec.mount_options = {"noatime"};
        volume.spec.csi->fs_type = "ext4";
        for (auto* secret : {&volume.spec.csi->node_stage_secret_ref, &volume.spec.csi->node_publish_secret_ref}) {
            secret->emplace().name = "s";
            (*secret)->namespace_ = "ns";
        }
    });
    auto wanted = std::make_shared<core::Pod>(*pod("u1", Claim));
    wanted->spec.security_context.emplace().fs_group = 77;
    ASSERT_EQ(set_up(wanted), "");
    const std::string staged = last("NodeStageVolume"), published = last("NodePublishVolume");
    for (const std::string& call : {staged, published}) {
        EXPECT_THAT(call, HasSubstr(R"("password":"pw")"));
        EXPECT_THAT(call, HasSubstr("noatime"));
        EXPECT_THAT(call, HasSubstr("ext4"));
        EXPECT_THAT(call, HasSubstr(R"("volume_mount_group":"77")"));
        EXPECT_THAT(call, HasSubstr(R"("a":"b")"));
    }
    EXPECT_THAT(published, HasSubstr(R"("csi.storage.k8s.io/pod.name":"p")"));
    EXPECT_THAT(published, HasSubstr(R"("csi.storage.k8s.io/ephemeral":"false")"));
    EXPECT_THAT(published, HasSubstr("token-for-vault"));
    EXPECT_THAT(staged, Not(HasSubstr("token-for-vault")));
}

TEST_F(CsiVolumesTest, AMissingSecretIsTold) {
    start();
    put_claim([](core::PersistentVolume& volume) {
        volume.spec.csi->node_publish_secret_ref.emplace().name = "none";
        volume.spec.csi->node_publish_secret_ref->namespace_ = "ns";
    });
    EXPECT_THAT(set_up(pod("u1", Claim)),
                HasSubstr("MountVolume.SetUp failed for volume \"pv1\" : fetching NodePublishSecretRef ns/none failed: "
                          "kubernetes.io/csi: failed to find the secret none in the namespace ns with error: "));
    EXPECT_EQ(tear_down("u1"), "");
}

TEST_F(CsiVolumesTest, TheFsGroupIsAppliedAsTheDriverWants) {
    start();
    auto wanted = std::make_shared<core::Pod>(*pod("u1", Inline));
    wanted->spec.security_context.emplace().fs_group = 77;
    ASSERT_EQ(set_up(wanted), "");
    const std::string mount = root() + "/pods/u1/volumes/kubernetes.io~csi/v/mount";
    EXPECT_EQ(folder.files->status(mount)->gid, 77u);
    set_driver_object([](CSIDriverSpec& spec) {
        spec.attach_required = false;
        spec.fs_group_policy = "None";
    });
    auto other = std::make_shared<core::Pod>(*pod("u2", Inline));
    other->spec.security_context.emplace().fs_group = 77;
    ASSERT_EQ(set_up(other), "");
    EXPECT_NE(folder.files->status(root() + "/pods/u2/volumes/kubernetes.io~csi/v/mount")->gid, 77u);
}

TEST_F(CsiVolumesTest, InlineVolumesComeAndGoWithThePod) {
    start();
    ASSERT_EQ(set_up(pod("u1", Inline)), "");
    EXPECT_THAT(methods(), ElementsAre("NodePublishVolume"));
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr("\"csi-"));
    EXPECT_THAT(csi->volumes_in_use(), IsEmpty());
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_THAT(methods(), ElementsAre("NodePublishVolume", "NodeUnpublishVolume"));
    EXPECT_FALSE(exists("/pods/u1"));
    set_driver_object([](CSIDriverSpec& spec) { spec.volume_lifecycle_modes = {"Persistent"}; });
    EXPECT_EQ(set_up(pod("u2", Inline)),
              "MountVolume.SetUp failed for volume \"v\" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: "
              "volume mode \"Ephemeral\" not supported by driver csi.example.com (only supports [\"Persistent\"])");
}

TEST_F(CsiVolumesTest, FailuresAreToldInUpstreamsWordsAndTriedAgain) {
    start();
    put_claim();
    driver->switches["NodeStageVolume"] = {net::GrpcStatus::Internal, "no disk"};
    EXPECT_EQ(set_up(pod("u1", Claim)), "MountVolume.MountDevice failed for volume \"pv1\" : rpc error: code = Internal desc = no disk");
    EXPECT_FALSE(exists("/pods/u1/volumes/kubernetes.io~csi/pv1")) << "the driver has done nothing, and need not be asked again";
    driver->switches["NodeStageVolume"] = {};
    driver->switches["NodePublishVolume"] = {net::GrpcStatus::Aborted, "busy"};
    EXPECT_EQ(set_up(pod("u1", Claim)), "MountVolume.SetUp failed for volume \"pv1\" : rpc error: code = Aborted desc = busy");
    EXPECT_TRUE(exists("/pods/u1/volumes/kubernetes.io~csi/pv1/vol_data.json")) << "it may still be at it";
    driver->switches["NodePublishVolume"] = {};
    EXPECT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_EQ(driver->count("NodeStageVolume"), 2u);
    driver->switches["NodeUnpublishVolume"] = {net::GrpcStatus::Internal, "in use"};
    EXPECT_EQ(tear_down("u1"),
              "UnmountVolume.TearDown failed for volume \"pv1\" : kubernetes.io/csi: Unmounter.TearDownAt failed: rpc "
              "error: code = Internal desc = in use");
    EXPECT_TRUE(exists("/pods/u1/volumes/kubernetes.io~csi/pv1/mount")) << "nothing is deleted";
    driver->switches["NodeUnpublishVolume"] = {};
    driver->switches["NodeUnstageVolume"] = {net::GrpcStatus::Internal, "in use"};
    EXPECT_EQ(tear_down("u1"), "") << "the pod does not wait for it";
    EXPECT_FALSE(exists("/pods/u1"));
}

// STO-27
TEST_F(CsiVolumesTest, OnWindowsAFailureTellsThatTheCsiProxyIsMissing) {
    bool there = false;
    has_csi_proxy = [&] { return there; };
    start();
    put_claim();
    const std::string missing = "; csi-proxy pipe \\\\.\\pipe\\csi-proxy-filesystem-v1 not found; install csi-proxy on the node";
    EXPECT_THAT(set_up(pod("u1", Claim)), ::testing::EndsWith(missing)) << "the driver fails";
    EXPECT_TRUE(run(drivers->remove_plugin(info())));
    EXPECT_THAT(set_up(pod("u1", Claim)), ::testing::EndsWith("not found in the list of registered CSI drivers" + missing));
    there = true;
    EXPECT_THAT(set_up(pod("u1", Claim)), ::testing::EndsWith("not found in the list of registered CSI drivers"));
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_TRUE(run(drivers->add_plugin(info())));
}

/// A node with the driver that replaced the in-tree plug-in of disks of AWS.
struct InTreeVolumesTest : CsiVolumesTest {
    InTreeVolumesTest() {
        options.name = "ebs.csi.aws.com";
        set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; }, options.name);
        start();
    }
};

// STO-20
TEST_F(InTreeVolumesTest, AClaimsInTreeVolumeIsMountedByTheDriverThatReplacedItsPlugin) {
    const auto put = [this](const std::string& id) {
        put_claim([&](core::PersistentVolume& volume) {
            volume.spec.csi.reset();
            auto& source = volume.spec.aws_elastic_block_store.emplace();
            source.volume_id = id;
            source.fs_type = "ext4";
        });
    };
    put("aws://us-east-1a/vol-1");
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    for (const char* method : {"NodeStageVolume", "NodePublishVolume"}) EXPECT_THAT(last(method), HasSubstr(R"("volume_id":"vol-1")"));
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr(R"("fs_type":"ext4")"));
    EXPECT_THAT(csi->volumes_in_use(), IsEmpty()) << "its driver attaches nothing";
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = true; }, options.name);
    EXPECT_THAT(csi->volumes_in_use(), ElementsAre("kubernetes.io/csi/ebs.csi.aws.com^vol-1"));
    EXPECT_EQ(tear_down("u1"), "");
    put("aws://us-east-1a/disk-1");
    EXPECT_THAT(set_up(pod("u2", Claim)), HasSubstr("error processing PVC ns/data: failed to translate PV pv1 to CSI: "));
}

// STO-20
TEST_F(InTreeVolumesTest, ADiskThatAPodNamesByItsInTreeTypeIsMountedByTheDriver) {
    const auto own = [](const std::string& uid, const std::string& more) {
        return pod(uid, R"([{"name":"v","awsElasticBlockStore":{"volumeID":"vol-2")" + more + "}}]");
    };
    ASSERT_EQ(set_up(own("u1", "")), "");
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr(R"("volume_id":"vol-2")"));
    EXPECT_TRUE(exists("/pods/u1/volumes/kubernetes.io~csi/v/mount"));
    EXPECT_FALSE(manager->find_mounted("u1")->at("v").read_only);
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_FALSE(exists("/pods/u1"));
    EXPECT_TRUE(until([this] { return driver->count("NodeUnstageVolume") == 1; })) << "the disk stays, and so its data";
    ASSERT_EQ(set_up(own("u2", R"(,"readOnly":true)")), "");
    EXPECT_TRUE(manager->find_mounted("u2")->at("v").read_only);
    EXPECT_EQ(tear_down("u2"), "");
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; }, "disk.csi.azure.com");
    EXPECT_THAT(set_up(pod("u3", R"([{"name":"v","azureDisk":{"diskName":"d","diskURI":"/subscriptions/s/disks/d"}}])")),
                HasSubstr("driver name disk.csi.azure.com not found in the list of registered CSI drivers"));
    EXPECT_EQ(tear_down("u3"), "");
}

// STO-20: an upstream control plane attaches such volumes to nodes that say this.
TEST_F(InTreeVolumesTest, TheCSINodeTellsWhichPluginsAreTranslated) {
    EXPECT_EQ(api.find<CSINode>({"", "n1"})->metadata.annotations.at("storage.alpha.kubernetes.io/migrated-plugins"),
              "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,"
              "kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume");
    CSINode older = *api.find<CSINode>({"", "n1"});
    older.metadata.annotations.clear();
    api.put(older);
    EXPECT_TRUE(run(node_info->set_limit(options.name, 3)));
    EXPECT_TRUE(api.find<CSINode>({"", "n1"})->metadata.annotations.contains("storage.alpha.kubernetes.io/migrated-plugins"));
}

// STO-22
TEST_F(CsiVolumesTest, OnWindowsDriversGetPathsAsWindowsWritesThem) {
    has_csi_proxy = [] { return true; };
    start();
    put_claim();
    EXPECT_THAT(set_up(pod("u1", Claim)), HasSubstr("the staging path is not there")) << "it is not Windows";
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr(R"("staging_target_path":"C:\\tmp\\)"));
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr(R"(\\k\\plugins\\kubernetes.io\\csi\\csi.example.com\\)"));
    EXPECT_THAT(last("NodeStageVolume"), Not(HasSubstr("/tmp")));
    put_claim([](core::PersistentVolume& volume) { volume.spec.volume_mode = "Block"; });
    EXPECT_THAT(set_up(pod("u2", Claim, true)), HasSubstr("volume mode Block is not supported on Windows"));
    EXPECT_EQ(tear_down("u2"), "");
}

TEST_F(CsiVolumesTest, AnAttachableVolumeWaitsForItsAttachment) {
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = true; });
    start();
    put_claim();
    Scope scope(loop);
    std::optional<std::string> result;
    scope.spawn([](CsiVolumesTest& test, std::optional<std::string>& result) -> Task<> {
        const auto made = co_await test.manager->set_up(pod("u1", Claim), {});
        result = made ? "" : made.error().message;
        co_return {};
    }(*this, result));
    EXPECT_TRUE(run(loop.sleep(300ms)));
    EXPECT_THAT(api.find<core::Node>({"", "n1"})->status.volumes_in_use, ElementsAre(InUse)) << "nobody may detach it from now on";
    EXPECT_THAT(methods(), IsEmpty());
    VolumeAttachment attachment;
    attachment.metadata.name = objects::attachment_name(Driver, "h1", "n1");
    attachment.spec.node_name = "n1";
    attachment.status.attached = true;
    attachment.status.attachment_metadata = {{"device", "sdx"}};
    api.put(attachment);
    EXPECT_TRUE(run(loop.sleep(300ms)));
    EXPECT_FALSE(result) << "not before the node's status has it";
    api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.status.volumes_attached.emplace_back().name = InUse; });
    for (int i = 0; i < 100 && !result; ++i) EXPECT_TRUE(run(loop.sleep(50ms)));
    EXPECT_EQ(result, "");
    EXPECT_THAT(last("NodeStageVolume"), HasSubstr(R"("device":"sdx")"));
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr(R"("device":"sdx")"));
    EXPECT_TRUE(run(scope.close()));
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_TRUE(until([&] { return api.find<core::Node>({"", "n1"})->status.volumes_in_use.empty(); }));
}

TEST_F(CsiVolumesTest, AVolumeStaysStagedForAPodThatWaitsForIt) {
    VolumeAttachment attachment = start_attached();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    attachment.status.attached = false;
    attachment.status.attach_error.emplace().message = "gone";
    api.put(attachment);
    EXPECT_THAT(set_up(pod("u2", Claim)), HasSubstr("gone"));
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_THAT(csi->volumes_in_use(), ElementsAre(InUse)) << "the other still wants it";
    settle();
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 0u);
    EXPECT_EQ(tear_down("u2"), "");
    EXPECT_TRUE(unstaged());
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 1u);
    EXPECT_THAT(csi->volumes_in_use(), IsEmpty());
}

TEST_F(CsiVolumesTest, WhatTheWatchShowsOfTheLastPodDoesNotCount) {
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = true; });
    start();
    put_claim();
    stale_node.emplace();
    stale_node->status.volumes_in_use = {InUse};
    stale_node->status.volumes_attached.emplace_back().name = InUse;
    VolumeAttachment attachment;
    attachment.metadata.name = objects::attachment_name(Driver, "h1", "n1");
    attachment.status.attached = true;
    api.put(attachment);
    std::optional<std::string> result;
    Scope scope(loop);
    scope.spawn([](CsiVolumesTest& test, std::optional<std::string>& result) -> Task<> {
        const auto made = co_await test.manager->set_up(pod("u1", Claim), {});
        result = made ? "" : made.error().message;
        co_return {};
    }(*this, result));
    EXPECT_TRUE(run(loop.sleep(300ms)));
    EXPECT_FALSE(result);
    EXPECT_THAT(methods(), IsEmpty());
    api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.status.volumes_attached.emplace_back().name = InUse; });
    for (int i = 0; i < 100 && !result; ++i) EXPECT_TRUE(run(loop.sleep(50ms)));
    EXPECT_EQ(result, "");
    EXPECT_TRUE(run(scope.close()));
    EXPECT_EQ(tear_down("u1"), "");
}

/// So that it is detached: nobody else would ask for it.
TEST_F(CsiVolumesTest, AVolumeWhoseDriverWantsNoAttachmentAnyLongerIsNotHeld) {
    (void)start_attached();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_THAT(csi->volumes_in_use(), ElementsAre(InUse));
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; });
    EXPECT_THAT(csi->volumes_in_use(), IsEmpty());
    EXPECT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_EQ(tear_down("u1"), "");
}

TEST_F(CsiVolumesTest, AFailedAttachmentIsTold) {
    (void)start_attached("no such disk");
    EXPECT_EQ(set_up(pod("u1", Claim)), "MountVolume.WaitForAttach failed for volume \"pv1\" : no such disk");
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_THAT(csi->volumes_in_use(), IsEmpty());
}

/// The pod's owner can have it placed elsewhere then.
TEST_F(CsiVolumesTest, APodWhoseVolumeIsOneTooManyForItsNodeIsTold) {
    set_driver_object([](CSIDriverSpec& spec) {
        spec.attach_required = true;
        spec.node_allocatable_update_period_seconds = 600;
    });
    attach_limit = 200ms;
    options.most_volumes = 7;
    start();
    put_claim();
    VolumeAttachment attachment;
    attachment.metadata.name = objects::attachment_name(Driver, "h1", "n1");
    attachment.status.attach_error.emplace().error_code = 13;
    api.put(attachment);
    EXPECT_THAT(set_up(pod("u1", Claim)), HasSubstr("context deadline exceeded")) << "of another error";
    attachment.status.attach_error->error_code = 8;
    api.put(attachment);
    driver->set_most_volumes(6);
    const auto made = run(manager->set_up(pod("u1", Claim), {}));
    ASSERT_FALSE(made);
    EXPECT_TRUE(is_attach_limit_exceeded(made.error()));
    EXPECT_THAT(made.error().message, ::testing::StartsWith("Node has reached its volume attachment limit, rejecting pod."));
    EXPECT_EQ(api.find<CSINode>({"", "n1"})->spec.drivers.at(0).allocatable->count, 6) << "the scheduler is to know";
    EXPECT_EQ(tear_down("u1"), "");
}

TEST_F(CsiVolumesTest, AKubeletThatStartsTakesDownWhatItFinds) {
    start();
    put_claim();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    ASSERT_EQ(set_up(pod("u2", Claim)), "");
    stop_kubelet();
    start_kubelet();
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = true; });
    EXPECT_THAT(csi->volumes_in_use(), ElementsAre(InUse)) << "from the start";
    set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; });
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 0u);
    ASSERT_EQ(set_up(pod("u2", Claim)), "") << "staged and published again, as the machine may have restarted";
    EXPECT_EQ(driver->count("NodeStageVolume"), 2u);
    EXPECT_EQ(driver->count("NodePublishVolume"), 3u);
    EXPECT_EQ(tear_down("u2"), "");
    EXPECT_TRUE(unstaged());
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 1u);
    EXPECT_FALSE(exists("/pods/u2"));
}

TEST_F(CsiVolumesTest, BlockDevicesArePublishedAsFiles) {
    start();
    put_claim([](core::PersistentVolume& volume) { volume.spec.volume_mode = "Block"; });
    ASSERT_EQ(set_up(pod("u1", Claim, true)), "");
    const MountedVolume& mounted = manager->find_mounted("u1")->at("v");
    EXPECT_TRUE(mounted.is_block);
    EXPECT_EQ(mounted.path, root() + "/plugins/kubernetes.io/csi/volumeDevices/publish/pv1/u1");
    EXPECT_EQ(folder.files->read_link(root() + "/pods/u1/volumeDevices/kubernetes.io~csi/pv1").value(), mounted.path);
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr("\"block\":"));
    ASSERT_EQ(set_up(pod("u2", Claim, true)), "");
    stop_kubelet();
    start_kubelet();
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 0u);
    EXPECT_EQ(tear_down("u2"), "");
    EXPECT_TRUE(until([&] { return !exists("/plugins/kubernetes.io/csi/volumeDevices/pv1"); }));
    EXPECT_EQ(driver->count("NodeUnstageVolume"), 1u);
    for (const char* kind : {"/publish", "/staging", ""})
        EXPECT_FALSE(exists("/plugins/kubernetes.io/csi/volumeDevices" + std::string(kind) + "/pv1")) << kind;
    EXPECT_EQ(set_up(pod("u3", Claim)),
              "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to "
              "process volumes=[v]: volume v has volumeMode Block, but is specified in volumeMounts");
}

TEST_F(CsiVolumesTest, WhatADriverIsDoingForADeletedPodIsAwaitedBeforeItIsUndone) {
    start();
    put_claim();
    for (const char* method : {"NodeStageVolume", "NodePublishVolume"}) {
        driver->calls.clear();
        driver->ended.clear();
        driver->switches[method] = {.delay = 300ms};
        Scope scope(loop);
        scope.spawn([](CsiVolumesTest& test) -> Task<> {
            (void)co_await test.manager->set_up(pod("u1", Claim), {});
            co_return {};
        }(*this));
        ASSERT_TRUE(until([&] { return driver->count(method) == 1; })) << method;
        EXPECT_TRUE(run(scope.close())) << "the pod is deleted meanwhile";
        driver->switches.clear();
        EXPECT_EQ(tear_down("u1"), "");
        EXPECT_TRUE(unstaged());
        EXPECT_THAT(csi->volumes_in_use(), IsEmpty());
        EXPECT_EQ(driver->ended.count(method), 1u) << method << " was not given up";
        EXPECT_FALSE(exists("/pods/u1/volumes/kubernetes.io~csi/pv1/mount"));
    }
}

TEST_F(CsiVolumesTest, RepublishedVolumesAreAskedForInEverySync) {
    set_driver_object([](CSIDriverSpec& spec) {
        spec.attach_required = false;
        spec.requires_republish = true;
    });
    start();
    const auto asked = [this](std::size_t times) { return until([&] { return driver->count("NodePublishVolume") == times; }); };
    ASSERT_EQ(set_up(pod("u1", Inline)), "");
    ASSERT_EQ(set_up(pod("u1", Inline)), "");
    EXPECT_TRUE(asked(2));
    driver->switches["NodePublishVolume"] = {net::GrpcStatus::Internal, "no secret", 100ms};
    EXPECT_TRUE(until([&] {
        EXPECT_EQ(set_up(pod("u1", Inline)), "") << "the pod need not wait";
        return driver->count("NodePublishVolume") == 3;
    }));
    EXPECT_EQ(set_up(pod("u1", Inline)), "");
    EXPECT_EQ(driver->count("NodePublishVolume"), 3u) << "one at a time";
    EXPECT_TRUE(exists("/pods/u1/volumes/kubernetes.io~csi/v/mount")) << "the pod keeps what it has";
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_FALSE(exists("/pods/u1"));
}

TEST_F(CsiVolumesTest, AVolumeThatGrewIsEnlargedOnTheNode) {
    options.capabilities.insert(NodeCapabilityType::ExpandVolume);
    start();
    put_claim();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_EQ(driver->count("NodeExpandVolume"), 0u);
    api.change<core::PersistentVolume>({"", "pv1"}, [](auto& volume) { volume.spec.capacity["storage"] = Quantity::from_value(2 << 20); });
    driver->switches["NodeExpandVolume"] = {net::GrpcStatus::Internal, "not now"};
    ASSERT_EQ(set_up(pod("u1", Claim)), "") << "the pod goes on with what it has";
    EXPECT_TRUE(until([&] { return driver->count("NodeExpandVolume") == 1; }));
    settle();
    EXPECT_EQ(api.find<core::PersistentVolumeClaim>({"ns", "data"})->status.capacity["storage"].value(), 1 << 20);
    driver->switches["NodeExpandVolume"] = {};
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    const auto size = [this] { return api.find<core::PersistentVolumeClaim>({"ns", "data"})->status.capacity["storage"].value(); };
    EXPECT_TRUE(until([&] { return size() == 2 << 20; }));
    EXPECT_THAT(last("NodeExpandVolume"), HasSubstr("\"required_bytes\":2097152"));
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    settle();
    EXPECT_EQ(driver->count("NodeExpandVolume"), 2u);
}

/// A claim of 1Mi that a pod has, whose volume is to be 2Mi.
struct CsiGrowthTest : CsiVolumesTest {
    CsiGrowthTest() {
        options.capabilities.insert(NodeCapabilityType::ExpandVolume);
        start();
        put_claim();
        EXPECT_EQ(set_up(pod("u1", Claim)), "");
        api.change<core::PersistentVolume>({"", "pv1"},
                                           [](auto& volume) { volume.spec.capacity["storage"] = Quantity::from_value(2 << 20); });
        ask("NodeResizePending", 2 << 20);
    }
    /// As the external resizer does; the claim's user wants the same.
    void ask(const std::string& status, std::int64_t bytes) {
        want(bytes);
        api.change<core::PersistentVolumeClaim>({"ns", "data"}, [&](auto& claim) {
            claim.status.allocated_resources["storage"] = Quantity::from_value(bytes);
            claim.status.allocated_resource_statuses["storage"] = status;
        });
    }
    void want(std::int64_t bytes) {
        api.change<core::PersistentVolumeClaim>(
            {"ns", "data"}, [&](auto& claim) { claim.spec.resources.requests["storage"] = Quantity::from_value(bytes); });
    }
    void answer(net::GrpcStatus status, const std::string& message) { driver->switches["NodeExpandVolume"] = {status, message}; }
    void sync() {
        EXPECT_EQ(set_up(pod("u1", Claim)), "") << "the pod goes on with what it has";
        settle();
    }
    core::PersistentVolumeClaimStatus status() { return api.find<core::PersistentVolumeClaim>({"ns", "data"})->status; }
    std::string resize_status() { return status().allocated_resource_statuses["storage"]; }
    std::size_t asked() { return driver->count("NodeExpandVolume"); }
};

TEST_F(CsiGrowthTest, WhatFailedIsAConditionOfTheClaimUntilItSucceeds) {
    answer(net::GrpcStatus::Internal, "not now");
    sync();
    ASSERT_EQ(status().conditions.size(), 1u);
    const core::PersistentVolumeClaimCondition told = status().conditions[0];
    EXPECT_EQ(told.type, "NodeResizeError");
    EXPECT_EQ(told.status, "True");
    EXPECT_EQ(told.message,
              "failed to expand pvc with Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = not now");
    EXPECT_EQ(resize_status(), "NodeResizeInProgress");
    sync();
    EXPECT_EQ(asked(), 2u) << "it is tried again";
    EXPECT_EQ(status().conditions, std::vector{told});
    answer(net::GrpcStatus::Ok, "");
    sync();
    EXPECT_TRUE(status().conditions.empty());
    EXPECT_TRUE(status().allocated_resource_statuses.empty());
    EXPECT_EQ(status().capacity["storage"].value(), 2 << 20);
}

TEST_F(CsiGrowthTest, AnUnknownOutcomeIsNoCondition) {
    answer(net::GrpcStatus::Aborted, "busy");
    sync();
    EXPECT_EQ(asked(), 1u);
    EXPECT_TRUE(status().conditions.empty());
    EXPECT_EQ(resize_status(), "NodeResizeInProgress");
}

TEST_F(CsiGrowthTest, WhatCannotBeIsNotTriedAgainUntilTheResizerAsks) {
    answer(net::GrpcStatus::InvalidArgument, "too large");
    sync();
    EXPECT_EQ(resize_status(), "NodeResizeInfeasible");
    EXPECT_EQ(status().conditions.at(0).type, "NodeResizeError");
    sync();
    EXPECT_EQ(asked(), 1u);
    answer(net::GrpcStatus::Ok, "");
    ask("NodeResizePending", 3 << 19);
    sync();
    EXPECT_THAT(last("NodeExpandVolume"), HasSubstr("\"required_bytes\":1572864")) << "what is allocated, not what the volume offers";
    EXPECT_EQ(status().capacity["storage"].value(), 3 << 19);
    sync();
    EXPECT_EQ(asked(), 2u) << "the claim has what was allocated";
}

TEST_F(CsiGrowthTest, ASizeThatNobodyWantsIsGivenUpWhenItFailsAgain) {
    answer(net::GrpcStatus::PermissionDenied, "no");
    sync();
    EXPECT_EQ(resize_status(), "NodeResizeInProgress");
    want(3 << 19);
    sync();
    EXPECT_EQ(asked(), 2u);
    EXPECT_EQ(resize_status(), "NodeResizeInfeasible");
}

TEST_F(CsiGrowthTest, AVolumeThatOnlyGrowsUnusedWaitsForTheNextPod) {
    answer(net::GrpcStatus::FailedPrecondition, "in use");
    sync();
    sync();
    EXPECT_EQ(asked(), 1u);
    answer(net::GrpcStatus::Ok, "");
    ASSERT_EQ(tear_down("u1"), "");
    ASSERT_EQ(set_up(pod("u2", Claim)), "");
    EXPECT_EQ(asked(), 2u);
    EXPECT_EQ(status().capacity["storage"].value(), 2 << 20);
}

// STO-19
TEST_F(CsiGrowthTest, APodThatHasTheVolumeReadOnlyDoesNotGrowItAndSaysSo) {
    ASSERT_EQ(tear_down("u1"), "");
    const auto read_only = pod("u2", R"([{"name":"v","persistentVolumeClaim":{"claimName":"data","readOnly":true}}])");
    for (const char* when : {"when it starts", "while it runs"}) {
        EXPECT_EQ(set_up(read_only), "") << "the pod goes on " << when;
        settle();
    }
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr("\"readonly\":true"));
    EXPECT_EQ(asked(), 0u);
    EXPECT_EQ(resize_status(), "NodeResizePending") << "another pod may grow it";
    EXPECT_EQ(status().capacity["storage"].value(), 1 << 20);
    Scope scope(loop);
    scope.spawn(events.run());
    EXPECT_TRUE(until([&] { return api.list<core::Event>().size() >= 2; }));
    EXPECT_TRUE(run(scope.close()));
    std::set<std::string> told;
    for (const core::Event& event : api.list<core::Event>()) {
        EXPECT_EQ(event.type + " " + event.reason + ": " + event.message,
                  "Warning FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume \"pv1\" requested read-only file system");
        told.insert(event.involved_object.kind + "/" + event.involved_object.name);
    }
    EXPECT_EQ(told, (std::set<std::string>{"PersistentVolumeClaim/data", "Pod/p"}));
    ASSERT_EQ(tear_down("u2"), "");
    ASSERT_EQ(set_up(pod("u3", Claim)), "");
    EXPECT_EQ(asked(), 1u) << "the next pod that writes has it grown";
    EXPECT_EQ(status().capacity["storage"].value(), 2 << 20);
}

TEST_F(CsiGrowthTest, TheControllersPartComesFirst) {
    for (const char* others : {"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInfeasible"}) {
        ask(others, 2 << 20);
        sync();
    }
    EXPECT_EQ(asked(), 0u);
}

TEST_F(CsiGrowthTest, AVolumeForManyNodesIsEnlargedOnEachOfThem) {
    const auto grown_elsewhere = [this](std::int64_t bytes) {
        api.change<core::PersistentVolume>({"", "pv1"},
                                           [&](auto& volume) { volume.spec.capacity["storage"] = Quantity::from_value(bytes); });
        api.change<core::PersistentVolumeClaim>({"ns", "data"}, [&](auto& claim) {
            claim.spec.access_modes = {"ReadWriteMany"};
            claim.status.capacity["storage"] = Quantity::from_value(bytes);
            claim.status.allocated_resource_statuses.clear();
        });
    };
    grown_elsewhere(2 << 20);
    sync();
    EXPECT_EQ(asked(), 1u);
    EXPECT_THAT(last("NodeExpandVolume"), HasSubstr("\"required_bytes\":2097152"));
    sync();
    EXPECT_EQ(asked(), 1u) << "it is done";
    answer(net::GrpcStatus::Internal, "not now");
    grown_elsewhere(3 << 20);
    sync();
    EXPECT_EQ(asked(), 2u);
    EXPECT_TRUE(status().conditions.empty()) << "the claim has what it wants";
    api.change<core::PersistentVolumeClaim>(
        {"ns", "data"}, [](auto& claim) { claim.metadata.annotations["volume.kubernetes.io/node-expansion-not-required"] = "true"; });
    sync();
    EXPECT_EQ(asked(), 2u) << "the controller has done it all";
}

TEST_F(CsiVolumesTest, StatisticsAreTheDrivers) {
    options.capabilities.insert(NodeCapabilityType::GetVolumeStats);
    options.capabilities.insert(NodeCapabilityType::VolumeCondition);
    start();
    put_claim();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    driver->is_abnormal = true;
    const auto stats = run(csi->stats(Driver, "h1", manager->find_mounted("u1")->at("v").path, 5s));
    ASSERT_TRUE(stats) << stats.error().message;
    EXPECT_EQ(stats->file_system.capacity, 64u << 20);
    EXPECT_EQ(stats->file_system.inodes, 1000u);
    EXPECT_TRUE(stats->condition->abnormal);
}

TEST(CsiVolumeData, IsReadBackAndNothingElseIs) {
    const CsiVolumeData data{"pv", Driver, "h\"1", "n", "csi-1", true};
    const auto read = parse_csi_volume_data(to_json(data));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->handle, "h\"1");
    EXPECT_TRUE(read->is_ephemeral);
    for (const char* text : {"", "[]", "{}", R"({"driverName":"d"})", R"({"driverName":"../d","volumeHandle":"h"})"})
        EXPECT_FALSE(parse_csi_volume_data(text)) << text;
}

}  // namespace
}  // namespace porthole::kubelet
