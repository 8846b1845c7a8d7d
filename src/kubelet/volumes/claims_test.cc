#include <set>

#include "kubelet/volumes/local_volume/local_volume_reclaimer.h"
#include "kubelet/volumes/volumes_fixture.h"

namespace porthole::kubelet {
namespace {

/// A claim "data" that is bound to a local volume "pv1" at /disks/1.
struct ClaimTest : VolumesTest {
    ClaimTest() {
        core::PersistentVolume volume;
        volume.spec.local.emplace().path = "/disks/1";
        put_claim_of(volume);
    }
    void set_mode(const std::string& mode) {
        api.change<core::PersistentVolume>({"", "pv1"}, [&](auto& volume) { volume.spec.volume_mode = mode; });
    }
    Result<std::vector<cri::Mount>> used_by(const std::string& container, const std::string& claim = "", const std::string& pod = "") {
        return mounts(R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data")" + claim + "}}]," + pod +
                      R"("containers":[{"name":"c",)" + container + "}]}");
    }
    static constexpr const char* Mounted = R"("volumeMounts":[{"name":"v","mountPath":"/m"}])";
    static constexpr const char* Mapped = R"("volumeDevices":[{"name":"v","devicePath":"/dev/x"}])";
};

TEST_F(ClaimTest, ALocalVolumeMustBeThere) {
    EXPECT_EQ(used_by(Mounted).error().message,
              "MountVolume.NewMounter initialization failed for volume \"pv1\" : path \"/disks/1\" does not exist");
    ASSERT_TRUE(files.create_directories("/disks", 0755));
    ASSERT_TRUE(files.write("/disks/1", "", 0644));
    EXPECT_EQ(used_by(Mounted).error().message,
              "MountVolume.NewMounter initialization failed for volume \"pv1\" : only directory and block device are supported");
    ASSERT_TRUE(files.remove("/disks/1"));
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    EXPECT_EQ(used_by(Mounted)->at(0).host_path, "/disks/1");
    EXPECT_FALSE(used_by(Mounted)->at(0).readonly);
    EXPECT_TRUE(used_by(Mounted, R"(,"readOnly":true)")->at(0).readonly) << "as the pod says of the claim";
}

TEST_F(ClaimTest, APathThatDoesNotAnswerHoldsUpItsOwnPodsOnly) {
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    const std::string claimed = R"({"name":"v","persistentVolumeClaim":{"claimName":"data"}})";
    const std::string of_host = R"({"name":"v","hostPath":{"path":"/disks/1","type":"Directory"}})";
    for (const std::string& volume : {claimed, of_host}) {
        SCOPED_TRACE(volume);
        ASSERT_TRUE(mounts(R"({"volumes":[)" + volume + "]}"));
        BusyWorkers workers(loop);
        const VolumeHost slow_host = host_with(workers, programs);
        VolumeManager busy = manager_on(slow_host);
        Scope scope(loop);
        scope.spawn([](VolumeManager& busy, std::shared_ptr<const core::Pod> pod) -> Task<> {
            CO_TRY_VOID(co_await busy.set_up(std::move(pod), {}));
            co_return {};
        }(busy, pod));
        loop.advance(1s);
        EXPECT_EQ(busy.find_mounted("u"), nullptr) << "a worker is to look at it";
        workers.release();
        loop.advance(1s);
        EXPECT_NE(busy.find_mounted("u"), nullptr);
        ASSERT_TRUE(porthole::sim::run(loop, scope.close()));
    }
}

TEST_F(ClaimTest, ItsGroupChangesAsThePolicySays) {
    ASSERT_TRUE(files.create_directories("/disks/1/below", 0755));
    const auto give = [&](const std::string& policy) {
        EXPECT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
        EXPECT_TRUE(files.change_owner("/disks/1/below", 0, 0));
        EXPECT_TRUE(used_by(Mounted, "", R"("securityContext":{"fsGroup":2000)" + policy + "},"));
        return files.status("/disks/1/below")->gid;
    };
    EXPECT_EQ(give(""), 2000u);
    EXPECT_EQ(give(R"(,"fsGroupChangePolicy":"OnRootMismatch")"), 0u) << "the top is right already";
    EXPECT_EQ(give(R"(,"fsGroupChangePolicy":"Always")"), 2000u);
}

TEST_F(ClaimTest, ADirectoryHasRoomForWhateverItsVolumeSays) {
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    api.change<core::PersistentVolume>({"", "pv1"}, [](auto& volume) { volume.spec.capacity["storage"] = *Quantity::parse("2Gi"); });
    api.change<core::PersistentVolumeClaim>({"ns", "data"}, [](auto& claim) {
        claim.status.capacity["storage"] = *Quantity::parse("1Gi");
        claim.status.allocated_resource_statuses["storage"] = "NodeResizePending";
    });
    ASSERT_TRUE(used_by(Mounted));
    const auto status = api.find<core::PersistentVolumeClaim>({"ns", "data"})->status;
    EXPECT_EQ(status.capacity.at("storage").to_string(), "2Gi");
    EXPECT_TRUE(status.allocated_resource_statuses.empty());
}

TEST_F(ClaimTest, WhatIsReadOnlyDoesNotGrowAndSaysSo) {
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    api.change<core::PersistentVolume>({"", "pv1"}, [](auto& volume) { volume.spec.capacity["storage"] = *Quantity::parse("2Gi"); });
    api.change<core::PersistentVolumeClaim>({"ns", "data"}, [](auto& claim) {
        claim.status.capacity["storage"] = *Quantity::parse("1Gi");
        claim.status.allocated_resource_statuses["storage"] = "NodeResizePending";
    });
    ASSERT_TRUE(used_by(Mounted, R"(,"readOnly":true)")) << "the pod goes on";
    const auto status = api.find<core::PersistentVolumeClaim>({"ns", "data"})->status;
    EXPECT_EQ(status.capacity.at("storage").to_string(), "1Gi");
    EXPECT_EQ(status.allocated_resource_statuses.at("storage"), "NodeResizePending") << "another pod may grow it";
    Scope scope(loop);
    scope.spawn(events.run());
    loop.advance(1s);
    std::set<std::string> told;
    for (const core::Event& event : api.list<core::Event>()) {
        EXPECT_EQ(event.reason + ": " + event.message,
                  "FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume \"pv1\" requested read-only file system");
        told.insert(event.involved_object.kind);
    }
    EXPECT_EQ(told, (std::set<std::string>{"PersistentVolumeClaim", "Pod"}));
    EXPECT_TRUE(porthole::sim::run(loop, scope.close()));
}

TEST_F(ClaimTest, ContainersHaveTheGroupThatTheirVolumeNames) {
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    const auto groups = [&](const std::string& annotation) {
        api.change<core::PersistentVolume>({"", "pv1"},
                                           [&](auto& volume) { volume.metadata.annotations["pv.beta.kubernetes.io/gid"] = annotation; });
        EXPECT_TRUE(used_by(Mounted, "", R"("securityContext":{"supplementalGroups":[7]},)"));
        return VolumeManager::groups_for(*pod, *manager.find_mounted("u"));
    };
    EXPECT_THAT(groups("1234"), testing::ElementsAre(1234));
    EXPECT_THAT(groups("7"), testing::IsEmpty()) << "the pod has it";
    for (const char* bad : {"", "staff", "12a", " 12", "-1", "2147483648", "99999999999999999999"})
        EXPECT_THAT(groups(bad), testing::IsEmpty()) << bad;
}

TEST_F(ClaimTest, ModesThatDoNotFitAreRefused) {
    const std::string start =
        "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: volume v has ";
    EXPECT_EQ(used_by(Mapped).error().message, start + "volumeMode Filesystem, but is specified in volumeDevices");
    set_mode("Block");
    EXPECT_EQ(used_by(Mounted).error().message, start + "volumeMode Block, but is specified in volumeMounts");
}

TEST_F(ClaimTest, ABlockVolumeIsADevice) {
    set_mode("Block");
    EXPECT_EQ(used_by(Mapped).error().message, "MapVolume.MapPodDevice failed for volume \"pv1\" : path \"/disks/1\" does not exist");
    ASSERT_TRUE(files.create_directories("/disks/1", 0755));
    EXPECT_EQ(used_by(Mapped).error().message, "MapVolume.MapPodDevice failed for volume \"pv1\" : /disks/1 is not a block device");
    ASSERT_TRUE(files.remove("/disks/1"));
    ASSERT_TRUE(files.create_directories("/dev", 0755));
    files.add_special("/dev/loop9", FileType::BlockDevice);
    ASSERT_TRUE(files.create_symlink("/dev/loop9", "/disks/1"));
    ASSERT_TRUE(used_by(Mapped));
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].host_path, "/dev/loop9") << "links are followed";
    EXPECT_EQ(devices[0].container_path, "/dev/x");
    EXPECT_EQ(devices[0].permissions, "mrw");
    ASSERT_TRUE(used_by(Mapped, R"(,"readOnly":true)"));
    EXPECT_EQ(devices[0].permissions, "r");
    api.change<core::PersistentVolume>({"", "pv1"}, [](auto& volume) {
        volume.spec.local.reset();
        volume.spec.host_path.emplace().path = "/dev/loop9";
    });
    EXPECT_THAT(used_by(Mapped).error().message, HasSubstr("no plugin with volumeMode Block"));
}

TEST_F(VolumesTest, ClaimsLeadToTheirVolume) {
    core::PersistentVolumeClaim claim;
    claim.metadata.name = "data";
    claim.metadata.namespace_ = "ns";
    claim.spec.volume_name = "pv1";
    const auto stored = api.put(claim);
    const char* spec = R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]})";
    EXPECT_THAT(mounts(R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"none"}}]})").error().message,
                HasSubstr("failed to process volumes=[v]: error processing PVC ns/none: failed to fetch PVC from API server: "));
    EXPECT_THAT(mounts(spec).error().message, HasSubstr("failed to process volumes=[v]: error processing PVC ns/data: PVC is not bound"));
    core::PersistentVolume volume;
    volume.metadata.name = "pv1";
    volume.spec.host_path.emplace().path = "/disks/1";
    volume.spec.claim_ref.emplace().uid = stored.metadata.uid;
    api.put(volume);
    api.change<core::PersistentVolumeClaim>({"ns", "data"}, [](auto& c) { c.status.phase = "Bound"; });
    const auto result = mounts(spec);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)[0].host_path, "/disks/1");
    const auto delete_with = [&](const char* finalizer) {
        api.change<core::PersistentVolumeClaim>({"ns", "data"}, [&](auto& c) {
            c.metadata.finalizers = {finalizer};
            c.metadata.deletion_timestamp = Timestamp(loop.wall_now());
        });
    };
    delete_with("kubernetes.io/pvc-protection");
    EXPECT_TRUE(mounts(spec)) << "it is kept for this pod, whose containers may start again";
    delete_with("example.com/kept-for-another-reason");
    EXPECT_THAT(mounts(spec).error().message, HasSubstr("error processing PVC ns/data: PVC is being deleted"));
}

/// Remembers images by path, and how large their file system is.
struct FakeDisks final : ImageDisks {
    FakeDisks(FileSystem& files, sim::FakeMounter& mounter) : files_(files), mounter_(mounter) {}
    Task<> make(std::string image, std::uint64_t bytes) override {
        ++made;
        if (!problem.empty()) co_return Error(Reason::Io, problem);
        sizes[image] = bytes;
        co_return files_.write(image, "", 0600);
    }
    Result<void> end_unfinished(const std::string& image) override {
        ended.push_back(image);
        return {};
    }
    Result<void> mount(const std::string& image, const std::string& directory) override {
        mounter_.mounts[directory] = image;
        return {};
    }
    Result<void> grow(const std::string& image, const std::string&, std::uint64_t bytes) override {
        sizes[image] = bytes;
        return {};
    }
    bool grows_mounted() override { return mounted; }
    Task<> grow_unmounted(std::string image, std::uint64_t bytes) override {
        sizes[image] = bytes;
        co_return {};
    }
    Result<bool> in_use(const std::string& image) override {
        return std::ranges::any_of(mounter_.mounts, [&](const auto& mount) { return mount.second == image; });
    }
    std::map<std::string, std::uint64_t> sizes;
    std::string problem;
    bool mounted = true;
    std::vector<std::string> ended;  ///< by end_unfinished()
    int made = 0;

private:
    FileSystem& files_;
    sim::FakeMounter& mounter_;
};

struct LocalVolumesTest : VolumesTest {
    /// A claim for 1Gi with a volume on `node`.
    void put_volume(const std::string& node = "n1", const std::string& handle = "pvc-1") {
        core::PersistentVolumeClaim claim;
        claim.metadata.name = "data";
        claim.metadata.namespace_ = "ns";
        claim.spec.volume_name = "pvc-1";
        claim.status.phase = "Bound";
        claim.status.capacity["storage"] = *Quantity::parse("1Gi");
        volume.metadata.name = "pvc-1";
        volume.metadata.labels["local.porthole.io/node"] = node;
        volume.metadata.finalizers = {"local.porthole.io/node-data"};
        volume.spec.capacity["storage"] = *Quantity::parse("1Gi");
        volume.spec.persistent_volume_reclaim_policy = "Delete";
        volume.spec.csi.emplace() = {.driver = "local.porthole.io", .volume_handle = handle};
        volume.spec.claim_ref.emplace().uid = api.put(claim).metadata.uid;
        volume.status.phase = "Bound";
        api.put(volume);
    }
    /// Where the pod finds the volume, or why it does not.
    std::string path(VolumeManager& of) {
        (void)mounts(R"({"nodeName":"n1","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]})");
        const auto mounted = porthole::sim::run(loop, of.set_up(pod, {}));
        return mounted ? mounted->at("v").path : mounted.error().message;
    }
    VolumeManager on(LocalVolumes& volumes) { return manager_on(host, {.local = &volumes}); }

    core::PersistentVolume volume;
    FakeDisks disks{files, mounter};
    LocalVolumes local{loop, pool, files, &disks, "/k"}, plain{loop, pool, files, nullptr, "/k"};
    VolumeManager linux_node = on(local), windows_node = on(plain);
    static constexpr const char* Directory = "/k/pods/u/volumes/kubernetes.io~local-volume/v";
    static constexpr const char* Image = "/k/local-volumes/pvc-1/image";
};

TEST_F(LocalVolumesTest, AreMadeAtFirstUseWithTheSizeOfTheVolume) {  // STO-05
    put_volume();
    EXPECT_EQ(path(linux_node), Directory);
    EXPECT_EQ(mounter.mounts[Directory], Image);
    EXPECT_EQ(disks.sizes[Image], 1ull << 30);
    EXPECT_EQ(files.status("/k/local-volumes")->mode, 0700u) << "containers see the inside only";
    ASSERT_TRUE(porthole::sim::run(loop, linux_node.tear_down("u")));
    EXPECT_TRUE(files.exists(Image));
    EXPECT_EQ(path(linux_node), Directory);
    EXPECT_EQ(disks.made, 1);
    EXPECT_EQ(linux_node.find_mounted("u")->at("v").claim, "data") << "for statistics";
}

TEST_F(LocalVolumesTest, ArePlainDirectoriesWhereTheSystemHasNoMeans) {
    put_volume();
    EXPECT_EQ(path(windows_node), "/k/local-volumes/pvc-1/data");
    EXPECT_EQ(files.status("/k/local-volumes/pvc-1/data")->mode, 0777u);
}

TEST_F(LocalVolumesTest, AreNotMadeWithoutTheSizeThatIsRequired) {
    put_volume();
    disks.problem = "no loop devices";
    EXPECT_EQ(path(linux_node),
              "MountVolume.SetUp failed for volume \"pvc-1\" : the size of the volume cannot be enforced: no loop devices. A StorageClass "
              "with the "
              "parameter sizeEnforcement: BestEffort does without");
    volume.spec.csi->volume_attributes["sizeEnforcement"] = "Required";
    api.put(volume);
    EXPECT_THAT(path(windows_node),
                HasSubstr("the size of the volume cannot be enforced: this node's operating system has no means for that"));
    volume.spec.csi->volume_attributes["sizeEnforcement"] = "BestEffort";
    api.put(volume);
    EXPECT_EQ(path(linux_node), "/k/local-volumes/pvc-1/data");
}

TEST_F(LocalVolumesTest, AreNotMadeOnAnotherNodeOrInAnotherFolderOrWithoutSpace) {
    put_volume("n2");
    EXPECT_THAT(path(linux_node), HasSubstr("PV pvc-1 is on node \"n2\""));
    put_volume("n1", "../../etc");
    EXPECT_THAT(path(linux_node), HasSubstr("volumeHandle \"../../etc\" must consist of"));
    put_volume();
    volume.spec.capacity["storage"] = *Quantity::parse("1Pi");
    api.put(volume);
    EXPECT_THAT(path(linux_node), HasSubstr("not enough space on the node's disk"));
    EXPECT_EQ(disks.made, 0);
}

TEST_F(LocalVolumesTest, GrowWhenTheirVolumeSaysSoAndTellTheClaim) {
    put_volume();
    (void)path(linux_node);
    volume.spec.capacity["storage"] = *Quantity::parse("2Gi");
    api.put(volume);
    api.change<core::PersistentVolumeClaim>({"ns", "data"}, [](auto& claim) {
        for (const char* type : {"Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError", "ModifyVolumeError"})
            claim.status.conditions.emplace_back().type = type;
        claim.status.allocated_resource_statuses["storage"] = "NodeResizePending";
    });
    EXPECT_EQ(path(linux_node), Directory);
    EXPECT_EQ(disks.sizes[Image], 2ull << 30);
    const auto status = api.find<core::PersistentVolumeClaim>({"ns", "data"})->status;
    EXPECT_EQ(status.capacity.at("storage").to_string(), "2Gi");
    ASSERT_EQ(status.conditions.size(), 1u) << "those of its growth are gone, whoever wrote them";
    EXPECT_EQ(status.conditions[0].type, "ModifyVolumeError");
    EXPECT_TRUE(status.allocated_resource_statuses.empty());
}

TEST_F(LocalVolumesTest, GrowWithTheNextPodWhereAMountedFileSystemCannot) {
    put_volume();
    disks.mounted = false;
    (void)path(linux_node);
    EXPECT_TRUE(files.exists(Directory));
    volume.spec.capacity["storage"] = *Quantity::parse("2Gi");
    api.put(volume);
    EXPECT_EQ(path(linux_node), Directory) << "the pod goes on";
    EXPECT_EQ(disks.sizes[Image], 1ull << 30);
    ASSERT_TRUE(porthole::sim::run(loop, linux_node.tear_down("u")));
    EXPECT_EQ(path(linux_node), Directory);
    EXPECT_EQ(disks.sizes[Image], 2ull << 30);
    EXPECT_EQ((api.find<core::PersistentVolumeClaim>({"ns", "data"})->status.capacity.at("storage").to_string()), "2Gi");
}

TEST_F(LocalVolumesTest, DoNotGrowOnWindows) {  // STO-18, LIM-32
    put_volume();
    volume.spec.capacity["storage"] = *Quantity::parse("2Gi");
    api.put(volume);
    api.change<core::PersistentVolumeClaim>({"ns", "data"}, [](auto& claim) {
        claim.status.conditions.emplace_back().type = "FileSystemResizePending";
        claim.status.allocated_resource_statuses["storage"] = "NodeResizePending";
    });
    EXPECT_EQ(path(windows_node), "/k/local-volumes/pvc-1/data") << "the pod goes on with what it has";
    const auto status = api.find<core::PersistentVolumeClaim>({"ns", "data"})->status;
    EXPECT_EQ(status.capacity.at("storage").to_string(), "1Gi");
    ASSERT_EQ(status.conditions.size(), 1u);
    EXPECT_EQ(status.conditions[0].type, "FileSystemResizePending") << "it is still to be done";
    Scope scope(loop);
    scope.spawn(events.run());
    loop.advance(1s);
    std::set<std::string> told;
    for (const core::Event& event : api.list<core::Event>())
        if (event.reason == "FileSystemResizeUnsupported") told.insert(event.involved_object.kind);
    EXPECT_EQ(told, (std::set<std::string>{"PersistentVolumeClaim", "Pod"}));
    EXPECT_TRUE(porthole::sim::run(loop, scope.close()));
}

TEST_F(LocalVolumesTest, AreRemovedByAWorkerWhateverContainersHaveLeft) {
    put_volume();
    (void)path(linux_node);
    ASSERT_TRUE(porthole::sim::run(loop, linux_node.tear_down("u")));
    BusyWorkers busy{loop};
    LocalVolumes slow{loop, busy, files, &disks, "/k"};
    const auto removes = std::make_shared<const core::PersistentVolume>(volume);
    std::optional<Result<void>> removed;
    Scope scope(loop);
    scope.spawn([](LocalVolumes& from, std::shared_ptr<const core::PersistentVolume> which, std::optional<Result<void>>& to) -> Task<> {
        to = co_await from.remove(std::move(which));
        co_return {};
    }(slow, removes, removed));
    loop.advance(1s);
    EXPECT_FALSE(removed) << "the node's agent goes on meanwhile";
    EXPECT_EQ(porthole::sim::run(loop, slow.remove(removes)).error().reason, Reason::Conflict);
    busy.release();
    loop.advance(1s);
    EXPECT_TRUE(removed && *removed);
    EXPECT_FALSE(files.exists("/k/local-volumes/pvc-1"));
    EXPECT_TRUE(porthole::sim::run(loop, scope.close()));
}

/// The reclaimer of n1.
struct ReclaimerTest : LocalVolumesTest {
    ReclaimerTest() {
        put_volume();
        (void)path(linux_node);
        informers.start();
        scope.spawn(reclaimer.run());
        loop.advance(1s);
    }
    ~ReclaimerTest() override {
        EXPECT_TRUE(porthole::sim::run(loop, scope.close()));
        EXPECT_TRUE(porthole::sim::run(loop, informers.close()));
    }
    void change(const std::function<void(core::PersistentVolume&)>& change) {
        api.change<core::PersistentVolume>({"", "pvc-1"}, change);
        loop.advance(5s);
    }
    bool is_held() {
        const auto found = api.find<core::PersistentVolume>({"", "pvc-1"});
        return found && !found->metadata.finalizers.empty();
    }

    Logger log{make_null_sink(), ""};
    client::EventRecorder events{loop, client, log, "kubelet", "n1"};
    client::Informers informers{{loop, client, random, log}};
    LocalVolumeReclaimer reclaimer{loop, client, informers, events, log, local, "n1"};
    Scope scope{loop};
};

TEST_F(ReclaimerTest, DeletesDataWhenTheVolumeIsDeletedAndNobodyUsesThem) {
    change([&](auto& volume) { volume.metadata.deletion_timestamp = Timestamp(loop.wall_now()); });
    EXPECT_TRUE(files.exists(Image)) << "a claim has it";
    change([](auto& volume) { volume.status.phase = "Released"; });
    EXPECT_TRUE(files.exists(Image)) << "a pod has it mounted";
    EXPECT_TRUE(is_held());
    ASSERT_TRUE(porthole::sim::run(loop, linux_node.tear_down("u")));
    loop.advance(5s);
    EXPECT_FALSE(files.exists("/k/local-volumes/pvc-1"));
    EXPECT_FALSE(disks.ended.empty()) << "what a killed agent left of it is unmounted first";
    EXPECT_FALSE(is_held());
}

TEST_F(ReclaimerTest, KeepsDataThatAreToBeRetained) {
    ASSERT_TRUE(porthole::sim::run(loop, linux_node.tear_down("u")));
    change([&](auto& volume) {
        volume.spec.persistent_volume_reclaim_policy = "Retain";
        volume.status.phase = "Released";
        volume.metadata.deletion_timestamp = Timestamp(loop.wall_now());
    });
    EXPECT_TRUE(files.exists(Image));
    EXPECT_FALSE(is_held());
}

}  // namespace
}  // namespace porthole::kubelet
