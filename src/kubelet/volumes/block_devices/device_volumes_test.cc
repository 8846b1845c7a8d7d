#include "kubelet/volumes/block_devices/device_volumes.h"

#include "base/strings.h"
#include "kubelet/volumes/selinux/selinux_fixture.h"
#include "kubelet/volumes/volumes_fixture.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

/// A node's programs: a target of iSCSI shows its units 1 and 2 when somebody logs in; disks are empty at first.
struct FakePrograms final : ProcessRunner {
    FakePrograms(EventLoop& loop, porthole::sim::MemoryFileSystem& files, sim::FakeMounter& mounter)
        : loop(loop), files(files), mounter(mounter) {}
    Task<CommandOutput> run(Command command) override {
        const std::string words = join(command.arguments, " ");
        if (command.arguments.front() == missing) co_return Error(Reason::NotFound, missing + ": no such program");
        calls.push_back(words);
        for (const auto& [part, code] : failures)
            if (words.contains(part)) co_return CommandOutput{.exit_code = code, .errors = "as told"};
        if (words.contains("discoverydb") && words.ends_with("-o new"))
            CO_TRY_VOID(make_record("/var/lib/iscsi/send_targets/10.0.0.9,3260", "st_config"));
        if (words.ends_with("--discover"))
            for (const char* interface : {"default", "other"})
                CO_TRY_VOID(make_record("/var/lib/iscsi/nodes/iqn.2026-11.example:t/10.0.0.9,3260,1", interface));
        if (words.ends_with("--login")) show_units();
        if (words.starts_with("dd")) content = content_once_read;
        if (words.ends_with("--logout")) {
            CO_TRY_VOID(co_await loop.sleep(1s));
            (void)files.remove_all("/dev/disk/by-path");
        }
        if (words.starts_with("blkid")) co_return content.empty() ? CommandOutput{.exit_code = 2} : CommandOutput{.output = content};
        if (words.starts_with("mkfs")) content = "TYPE=ext4\n";
        if (words.starts_with("mount")) mounter.mounts[command.arguments.back()] = *(command.arguments.end() - 2);
        co_return CommandOutput{};
    }
    Result<void> make_record(const std::string& folder, const std::string& name) {
        TRY_VOID(files.create_directories(folder, 0700));
        return files.write(folder + "/" + name,
                           "# BEGIN RECORD 2.1.8\nnode.startup = manual\nnode.session.auth.password = former\n# END RECORD\n", 0600);
    }
    void show_units() {
        for (const std::string lun : {"1", "2"}) {
            const std::string disk = "sd" + lun;
            (void)files.create_directories("/dev/disk/by-path", 0755);
            (void)files.create_directories("/sys/block/" + disk + "/device", 0755);
            (void)files.write("/sys/block/" + disk + "/device/delete", "", 0200);
            (void)files.write("/dev/" + disk, "", 0600);
            (void)files.create_symlink("/dev/" + disk, "/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.2026-11.example:t-lun-" + lun);
        }
    }
    long count(const std::string& part) const {
        return std::ranges::count_if(calls, [&](const std::string& call) { return call.contains(part); });
    }
    EventLoop& loop;
    porthole::sim::MemoryFileSystem& files;
    sim::FakeMounter& mounter;
    std::vector<std::string> calls;
    std::map<std::string, int> failures;  ///< exit codes by a part of the words
    std::string content;
    std::string content_once_read;  ///< of a device that blkid could not read at first
    std::string missing;            ///< a program that the node does not have
};

struct DeviceVolumesTest : VolumesTest {
    /// Sets up one volume, of the pod `uid`: its path in the container's mounts, or the error.
    std::string set_up(const std::string& volume, const std::string& uid = "u",
                       const std::string& use = R"("volumeMounts":[{"name":"v","mountPath":"/m"}])") {
        const auto pod = std::make_shared<core::Pod>(schema::decode_json<core::Pod>(R"({"metadata":{"name":"p","namespace":"ns","uid":")" +
                                                                                    uid + R"("},"spec":{"volumes":[{"name":"v",)" + volume +
                                                                                    R"(}],"containers":[{"name":"c",)" + use + "}]}}")
                                                         .value());
        const auto made = porthole::sim::run(loop, with_devices.set_up(pod, allocatable));
        if (!made) return made.error().message;
        mounted = made->at("v");
        return mounted.path;
    }
    bool tear_down(const std::string& uid = "u") { return porthole::sim::run(loop, with_devices.tear_down(uid)).has_value(); }
    static std::string unit(const std::string& lun, const std::string& more = "") {
        return R"("iscsi":{"targetPortal":"10.0.0.9","iqn":"iqn.2026-11.example:t","lun":)" + lun + more + "}";
    }
    static std::string target(const std::string& uid = "u") { return "/k/pods/" + uid + "/volumes/kubernetes.io~iscsi/v"; }
    std::size_t records(const std::string& kind = "iscsi") {
        return files.list("/k/plugins/kubernetes.io/" + kind).value_or(std::vector<std::string>()).size();
    }

    /// "chap" for a session of iSCSI.
    void put_secret(const std::string& namespace_) {
        core::Secret secret;
        secret.metadata.name = "chap";
        secret.metadata.namespace_ = namespace_;
        secret.data = {{"node.session.auth.username", "me"}, {"node.session.auth.password", "word"}, {"other", "x"}};
        api.put(secret);
    }

    FakePrograms node{loop, files, mounter};
    VolumeHost device_host = host_with(pool, node);
    std::unique_ptr<DeviceVolumes> devices_of_node = make_device_volumes(device_host, "/k");
    VolumeManager with_devices = manager_on(device_host, {.devices = devices_of_node.get()});
    MountedVolume mounted;
};

TEST_F(DeviceVolumesTest, AUnitGetsAFileSystemOnceAndIsKeptForTheNextPod) {
    ASSERT_EQ(set_up(unit("1")), target());
    EXPECT_EQ(node.count("mkfs.ext4 -F -m0 /dev/sd1"), 1);
    ASSERT_EQ(set_up(unit("1")), target()) << "repeated";
    EXPECT_EQ(node.count("mount -t ext4"), 1);
    ASSERT_TRUE(tear_down());
    EXPECT_TRUE(mounter.mounts.empty());
    EXPECT_EQ(node.count("--logout"), 1);
    EXPECT_EQ(files.read("/sys/block/sd1/device/delete").value(), "1");
    EXPECT_EQ(records(), 0u);
    ASSERT_EQ(set_up(unit("1"), "w"), target("w"));
    EXPECT_EQ(node.count("mkfs"), 1) << "it has one";
    EXPECT_EQ(node.count("fsck -a /dev/sd1"), 1);
}

TEST_F(DeviceVolumesTest, TheLastOfItsPodsTakesItAway) {
    ASSERT_EQ(set_up(unit("1"), "a"), target("a"));
    ASSERT_EQ(set_up(unit("1"), "b"), target("b"));
    EXPECT_EQ(node.count("mount -t ext4"), 1);
    ASSERT_TRUE(tear_down("a"));
    EXPECT_EQ(node.count("--logout"), 0);
    EXPECT_TRUE(mounter.mounts.contains(target("b")));
    ASSERT_TRUE(tear_down("b"));
    EXPECT_EQ(node.count("--logout"), 1);
}

TEST_F(DeviceVolumesTest, ASessionStaysWhileAnotherUnitOfItsTargetIsUsed) {
    ASSERT_EQ(set_up(unit("1"), "a"), target("a"));
    ASSERT_EQ(set_up(unit("2"), "b"), target("b"));
    ASSERT_TRUE(tear_down("a"));
    EXPECT_EQ(node.count("--logout"), 0);
    EXPECT_EQ(files.read("/sys/block/sd1/device/delete").value(), "1");
    EXPECT_EQ(files.read("/sys/block/sd2/device/delete").value(), "");
    ASSERT_TRUE(tear_down("b"));
    EXPECT_EQ(node.count("--logout"), 1);
}

TEST_F(DeviceVolumesTest, ADeviceWrittenInTwoWaysStaysUntilBothAreGone) {
    ASSERT_EQ(set_up(unit("1"), "a"), target("a"));
    ASSERT_EQ(set_up(unit("1", R"(,"portals":["10.0.0.8"])"), "b"), target("b"));
    ASSERT_TRUE(tear_down("a"));
    EXPECT_EQ(files.read("/sys/block/sd1/device/delete").value(), "");
    EXPECT_EQ(node.count("--logout"), 0);
    ASSERT_TRUE(tear_down("b"));
    EXPECT_EQ(files.read("/sys/block/sd1/device/delete").value(), "1");
    EXPECT_EQ(node.count("-p 10.0.0.9:3260 -T iqn.2026-11.example:t -I default --logout"), 1);
}

TEST_F(DeviceVolumesTest, ADeviceThatTheNodeHadBeforeStays) {
    node.show_units();
    ASSERT_EQ(set_up(unit("1"), "a"), target("a"));
    ASSERT_EQ(set_up(unit("1", R"(,"portals":["10.0.0.8"])"), "b"), target("b"));
    ASSERT_TRUE(tear_down("a"));
    ASSERT_TRUE(tear_down("b"));
    EXPECT_EQ(files.read("/sys/block/sd1/device/delete").value(), "");
    EXPECT_EQ(node.count("--logout"), 0);
    EXPECT_EQ(records(), 0u);
}

TEST_F(DeviceVolumesTest, AUnitIsNotCutOffByTheLogoutOfAnotherOne) {
    ASSERT_EQ(set_up(unit("1"), "a"), target("a"));
    Scope scope(loop);
    scope.spawn([](DeviceVolumesTest& test) -> Task<> { co_return co_await test.with_devices.tear_down("a"); }(*this));
    ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(500ms)));
    ASSERT_EQ(node.count("--logout"), 1);
    ASSERT_EQ(set_up(unit("2"), "b"), target("b"));
    ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(5s)));
    EXPECT_EQ(node.count("--login"), 2);
    EXPECT_TRUE(files.exists("/dev/disk/by-path/ip-10.0.0.9:3260-iscsi-iqn.2026-11.example:t-lun-2"));
}

TEST_F(DeviceVolumesTest, AnotherKubeletTakesDownWhatItFinds) {
    ASSERT_EQ(set_up(unit("1")), target());
    devices_of_node = make_device_volumes(device_host, "/k");
    ASSERT_TRUE(porthole::sim::run(loop, devices_of_node->tear_down("u")));
    EXPECT_TRUE(mounter.mounts.empty());
    EXPECT_EQ(node.count("--logout"), 1);
}

TEST_F(DeviceVolumesTest, AWorkerWaitsForADeviceThatIsSlowToWrite) {
    ASSERT_EQ(set_up(unit("1")), target());
    BusyWorkers workers(loop);
    const VolumeHost slow_host = host_with(workers, node);
    devices_of_node = make_device_volumes(slow_host, "/k");
    Scope scope(loop);
    scope.spawn([](DeviceVolumesTest& test) -> Task<> { co_return co_await test.devices_of_node->tear_down("u"); }(*this));
    ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(5s)));
    EXPECT_EQ(mounter.mounts.size(), 2u);
    workers.release();
    ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(5s)));
    EXPECT_TRUE(mounter.mounts.empty());
    EXPECT_EQ(node.count("--logout"), 1);
}

TEST_F(DeviceVolumesTest, APodThatWantsToWriteWaitsForTheEndOfAReadOnlyMount) {
    node.content = "TYPE=ext4\n";
    ASSERT_EQ(set_up(unit("1", R"(,"readOnly":true)"), "a"), target("a"));
    EXPECT_THAT(set_up(unit("1"), "b"), HasSubstr("mounted read-only for another pod"));
    EXPECT_THAT(set_up(unit("1", R"(,"readOnly":true,"fsType":"xfs")"), "b"), HasSubstr("mounted as \"ext4\" for another pod"));
    EXPECT_FALSE(mounter.mounts.contains(target("b")));
    ASSERT_TRUE(tear_down("a"));
    EXPECT_EQ(set_up(unit("1"), "b"), target("b")) << "it did not keep the mount itself";
    EXPECT_EQ(set_up(unit("1", R"(,"readOnly":true)"), "c"), target("c")) << "reading is always possible";
}

TEST_F(DeviceVolumesTest, WhatAKilledKubeletWasWritingIsNoPod) {
    ASSERT_EQ(set_up(unit("1")), target());
    const std::string folder = "/k/plugins/kubernetes.io/iscsi/" + files.list("/k/plugins/kubernetes.io/iscsi")->at(0);
    ASSERT_TRUE(files.write(folder + "/pods/w.new", "", 0600));
    ASSERT_TRUE(tear_down());
    EXPECT_EQ(node.count("--logout"), 1);
    EXPECT_EQ(records(), 0u);
}

TEST_F(DeviceVolumesTest, ARecordWithoutPodsKeepsNoSession) {
    const std::string folder = "/k/plugins/kubernetes.io/iscsi/old";
    ASSERT_EQ(set_up(unit("1")), target());
    ASSERT_TRUE(files.create_directories(folder, 0750));
    ASSERT_TRUE(
        files.write(folder + "/volume.json", R"({"portals":"x","iqn":"iqn.2026-11.example:t","lun":"2","interface":"default"})", 0600));
    ASSERT_TRUE(tear_down());
    EXPECT_EQ(node.count("--logout"), 1);
    ASSERT_TRUE(tear_down("another"));
    EXPECT_EQ(records(), 0u);
}

TEST_F(DeviceVolumesTest, ARecordThatWasHalfRemovedLetsThePodGo) {
    ASSERT_EQ(set_up(unit("1")), target());
    const std::string folder = "/k/plugins/kubernetes.io/iscsi/" + files.list("/k/plugins/kubernetes.io/iscsi")->at(0);
    ASSERT_TRUE(files.remove(folder + "/volume.json"));
    EXPECT_TRUE(tear_down());
    EXPECT_EQ(records(), 0u);
}

TEST_F(DeviceVolumesTest, ADeviceThatCannotBeLetGoIsKeptAndTriedAgain) {
    ASSERT_EQ(set_up(unit("1")), target());
    node.failures["--logout"] = 1;
    EXPECT_FALSE(tear_down());
    EXPECT_EQ(records(), 1u);
    EXPECT_TRUE(files.exists("/k/pods/u"));
    node.failures.clear();
    EXPECT_TRUE(tear_down());
    EXPECT_EQ(records(), 0u);
}

TEST_F(DeviceVolumesTest, WhatADeviceHoldsIsNeverOverwritten) {
    node.content = "TYPE=xfs\n";
    EXPECT_THAT(set_up(unit("1")), HasSubstr("failed to mount the volume as \"ext4\", it already contains xfs"));
    node.content = "PTTYPE=gpt\n";
    EXPECT_THAT(set_up(unit("1")), HasSubstr("has a partition table"));
    node.content = "";
    node.failures["blkid"] = 8;
    EXPECT_THAT(set_up(unit("1")), HasSubstr("exit status 8"));
    node.failures.clear();
    EXPECT_THAT(set_up(unit("1", R"(,"readOnly":true)")), HasSubstr("cannot mount unformatted disk /dev/sd1"));
    EXPECT_EQ(node.count("mkfs"), 0);
}

TEST_F(DeviceVolumesTest, ADeviceThatCannotBeReadIsNotTakenForAnEmptyOne) {
    node.failures["dd "] = 1;
    EXPECT_THAT(set_up(unit("1")), HasSubstr("exit status 1"));
    node.failures.clear();
    node.content_once_read = "TYPE=ext4\n";
    EXPECT_EQ(set_up(unit("1")), target()) << "it could be read the second time";
    EXPECT_EQ(node.count("mkfs"), 0);
}

TEST_F(DeviceVolumesTest, AFileSystemThatCannotBeRepairedIsNotMounted) {
    node.content = "TYPE=ext4\n";
    node.failures["fsck"] = 4;
    EXPECT_THAT(set_up(unit("1")), HasSubstr("'fsck' found errors on device /dev/sd1 but could not correct them"));
    node.failures["fsck"] = 1;
    EXPECT_EQ(set_up(unit("1")), target()) << "repaired";
}

TEST_F(DeviceVolumesTest, AFileSystemThatCannotBeCheckedIsMounted) {
    node.content = "TYPE=ext4\n";
    node.failures["fsck"] = 8;
    EXPECT_EQ(set_up(unit("1")), target()) << "there is no fsck.ext4";
    node.missing = "fsck";
    EXPECT_EQ(set_up(unit("2"), "w"), target("w"));
    EXPECT_EQ(node.count("mount -t ext4"), 2);
}

TEST_F(DeviceVolumesTest, ATargetWithAnAddressOfIpv6IsFoundByTheNameThatUdevGivesIt) {
    ASSERT_TRUE(files.create_directories("/dev/disk/by-path", 0755));
    ASSERT_TRUE(files.write("/dev/sd9", "", 0600));
    ASSERT_TRUE(files.create_symlink("/dev/sd9", "/dev/disk/by-path/ip-fd00::9:3260-iscsi-iqn.2026-11.example:t-lun-9"));
    EXPECT_EQ(set_up(R"("iscsi":{"targetPortal":"[fd00::9]","iqn":"iqn.2026-11.example:t","lun":9})"), target());
    EXPECT_EQ(node.count("mount -t ext4"), 1);
}

TEST_F(DeviceVolumesTest, NamesLeadNowhereElse) {
    EXPECT_THAT(set_up(R"("iscsi":{"targetPortal":"10.0.0.9","iqn":"../../x","lun":1})"),
                HasSubstr("is not valid as iqn of an iSCSI volume"));
    EXPECT_THAT(set_up(unit("1", R"(,"fsType":"../evil")")), HasSubstr("\"../evil\" is not a file system"));
    EXPECT_THAT(set_up(R"("fc":{"targetWWNs":["../x"],"lun":1})"), HasSubstr("is not valid as wwns of an fc volume"));
    EXPECT_EQ(node.calls, std::vector<std::string>());
    EXPECT_TRUE(tear_down()) << "nothing of them keeps the pod";
}

TEST_F(DeviceVolumesTest, ANodeWithoutTheProgramLetsThePodGo) {
    node.missing = "iscsiadm";
    EXPECT_THAT(set_up(unit("1")), HasSubstr("no such program"));
    EXPECT_TRUE(tear_down());
    EXPECT_EQ(records(), 0u);
}

TEST_F(DeviceVolumesTest, ARecordThatIsNotValidLetsThePodGo) {
    const std::string folder = "/k/plugins/kubernetes.io/iscsi/old";
    ASSERT_TRUE(files.create_directories(folder + "/pods", 0750));
    ASSERT_TRUE(
        files.write(folder + "/volume.json", R"({"portals":"10.0.0.9:3260","iqn":"../../x","lun":"1","interface":"default"})", 0600));
    ASSERT_TRUE(files.write(folder + "/pods/u", "", 0600));
    EXPECT_TRUE(tear_down());
    EXPECT_EQ(records(), 0u);
    EXPECT_EQ(node.calls, std::vector<std::string>());
}

TEST_F(DeviceVolumesTest, ATargetThatDoesNotAnswerIsNamed) {
    node.failures["--discover"] = 4;
    EXPECT_THAT(set_up(unit("1")),
                HasSubstr("failed to get any path for iscsi disk, last err seen:\niscsiadm -m discoverydb failed: exit status 4: as told"));
    node.failures.clear();
    EXPECT_THAT(set_up(unit("7")), HasSubstr("lun-7 is there after 10 s")) << "it has no such unit";
}

TEST_F(DeviceVolumesTest, OnePortalIsEnough) {
    node.failures["-p 10.0.0.8:3260 -T"] = 8;
    EXPECT_EQ(set_up(unit("1", R"(,"portals":["10.0.0.8:3260"])")), target());
}

TEST_F(DeviceVolumesTest, SecretsOfTheSessionAreSetBeforeLogin) {
    put_secret("ns");
    ASSERT_EQ(set_up(unit("1", R"(,"chapAuthSession":true,"secretRef":{"name":"chap"})")), target());
    const auto at = [&](const std::string& part) {
        return std::ranges::find_if(node.calls, [&](const std::string& call) { return call.contains(part); }) - node.calls.begin();
    };
    EXPECT_LT(at("node.session.auth.authmethod -v CHAP"), at("--login"));
    EXPECT_EQ(node.count("word -v") + node.count("username -v"), 0) << "arguments can be seen by others";
    const std::string records = "/var/lib/iscsi/nodes/iqn.2026-11.example:t/10.0.0.9,3260,1/";
    EXPECT_EQ(files.read(records + "default").value(),
              "# BEGIN RECORD 2.1.8\nnode.startup = manual\nnode.session.auth.password = word\nnode.session.auth.username = me\n"
              "# END RECORD\n");
    EXPECT_EQ(files.status(records + "default")->mode, 0600u);
    EXPECT_THAT(files.read(records + "other").value(), HasSubstr("password = former")) << "of another interface";
    const std::string record = "/k/plugins/kubernetes.io/iscsi/" + files.list("/k/plugins/kubernetes.io/iscsi")->at(0) + "/volume.json";
    EXPECT_FALSE(files.read(record)->contains("word"));
}

TEST_F(DeviceVolumesTest, SecretsOfTheDiscoveryAreSetBeforeIt) {
    core::Secret secret;
    secret.metadata.name = "chap";
    secret.metadata.namespace_ = "ns";
    secret.data = {{"discovery.sendtargets.auth.password", "word"}};
    api.put(secret);
    ASSERT_EQ(set_up(unit("1", R"(,"chapAuthDiscovery":true,"secretRef":{"name":"chap"})")), target());
    EXPECT_THAT(files.read("/var/lib/iscsi/send_targets/10.0.0.9,3260/st_config").value(), HasSubstr("auth.password = word\n# END"));
}

TEST_F(DeviceVolumesTest, ASecretDoesNotAddLinesToARecord) {
    core::Secret secret;
    secret.metadata.name = "chap";
    secret.metadata.namespace_ = "ns";
    secret.data = {{"node.session.auth.password", "word\nnode.startup = automatic"}};
    api.put(secret);
    EXPECT_THAT(set_up(unit("1", R"(,"chapAuthSession":true,"secretRef":{"name":"chap"})")), HasSubstr("control character"));
    EXPECT_EQ(node.count("--login"), 0);
}

TEST_F(DeviceVolumesTest, TheSecretOfAClaimsUnitIsInTheNamespaceOfTheClaimUnlessItNamesOne) {
    core::PersistentVolume volume;
    auto& source = volume.spec.iscsi.emplace();
    source.target_portal = "10.0.0.9:3260";
    source.iqn = "iqn.2026-11.example:t";
    source.lun = 1;
    source.chap_auth_session = true;
    source.secret_ref = core::SecretReference{.name = "chap", .namespace_ = "storage"};
    put_claim_of(volume);
    const std::string claimed = R"("persistentVolumeClaim":{"claimName":"data"})";
    put_secret("ns");
    EXPECT_THAT(set_up(claimed), HasSubstr("\"chap\" not found")) << "of another namespace";
    put_secret("storage");
    EXPECT_THAT(set_up(claimed), testing::StartsWith("/k/pods/u/volumes/"));
    ASSERT_TRUE(tear_down());
    volume.spec.iscsi->secret_ref->namespace_ = "";
    put_claim_of(volume);
    EXPECT_THAT(set_up(claimed), testing::StartsWith("/k/pods/u/volumes/"));
    EXPECT_EQ(node.count("node.session.auth.authmethod -v CHAP"), 2);
}

TEST_F(DeviceVolumesTest, ADiskOfFibreChannelIsFoundByEveryPathAndItsMultipathDeviceIsUsed) {
    for (const std::string disk : {"sda", "sdb"}) {
        ASSERT_TRUE(files.create_directories("/sys/block/" + disk + "/device", 0755));
        ASSERT_TRUE(files.write("/sys/block/" + disk + "/device/delete", "", 0200));
        ASSERT_TRUE(files.create_directories("/dev/disk/by-path", 0755));
        ASSERT_TRUE(files.write("/dev/" + disk, "", 0600));
        ASSERT_TRUE(files.create_directories("/sys/block/dm-3/slaves/" + disk, 0755));
    }
    ASSERT_TRUE(files.create_directories("/sys/class/scsi_host/host1", 0755));
    loop.call_after(3s, [&] {
        (void)files.create_symlink("/dev/sda", "/dev/disk/by-path/pci-0000:41:00.0-fc-0x500a0981891b8dc5-lun-0");
        (void)files.create_symlink("/dev/sdb", "/dev/disk/by-path/pci-0000:41:00.1-fc-0x500a0981891b8dc5-lun-0");
    });
    ASSERT_EQ(set_up(R"("fc":{"targetWWNs":["500a0981891b8dc5"],"lun":0,"fsType":"ext4"})"), "/k/pods/u/volumes/kubernetes.io~fc/v");
    EXPECT_EQ(files.read("/sys/class/scsi_host/host1/scan").value(), "- - -");
    EXPECT_EQ(node.count("mkfs.ext4 -F -m0 /dev/dm-3"), 1);
    ASSERT_TRUE(tear_down());
    EXPECT_EQ(node.count("multipath -f /dev/dm-3"), 1);
    EXPECT_EQ(files.read("/sys/block/sdb/device/delete").value(), "1");
    EXPECT_EQ(records("fc"), 0u);
}

TEST_F(DeviceVolumesTest, TheFileSystemOfALocalDiskGrowsToItsDeviceAndTheClaimIsTold) {
    const std::string claimed = R"("persistentVolumeClaim":{"claimName":"data"})";
    ASSERT_TRUE(files.create_directories("/dev", 0755));
    files.add_special("/dev/loop9", FileType::BlockDevice);
    core::PersistentVolume volume;
    volume.spec.local.emplace().path = "/dev/loop9";
    volume.spec.capacity["storage"] = *Quantity::parse("2Gi");
    put_claim_of(volume);
    const auto claim = [&] { return api.find<core::PersistentVolumeClaim>({"ns", "data"})->status; };
    const auto set_capacity = [&](const std::string& status) {
        api.change<core::PersistentVolumeClaim>({"ns", "data"}, [&](auto& changed) {
            changed.status.capacity["storage"] = *Quantity::parse("1Gi");
            changed.status.allocated_resources["storage"] = *Quantity::parse("2Gi");
            changed.status.allocated_resource_statuses["storage"] = status;
        });
    };
    set_capacity("ControllerResizeInProgress");
    ASSERT_THAT(set_up(claimed), testing::StartsWith("/k/pods/u/volumes/"));
    EXPECT_EQ(node.count("resize2fs"), 0) << "it is not the node's turn";
    set_capacity("NodeResizePending");
    node.failures["resize2fs"] = 1;
    ASSERT_THAT(set_up(claimed), testing::StartsWith("/k/pods/u/volumes/")) << "the pod keeps what it has";
    ASSERT_EQ(claim().conditions.size(), 1u);
    EXPECT_EQ(claim().conditions[0].type, "NodeResizeError");
    node.failures.clear();
    ASSERT_THAT(set_up(claimed), testing::StartsWith("/k/pods/u/volumes/"));
    EXPECT_EQ(node.count("resize2fs /dev/loop9"), 2);
    EXPECT_EQ(claim().capacity.at("storage").to_string(), "2Gi");
    EXPECT_TRUE(claim().allocated_resource_statuses.empty());
    EXPECT_TRUE(claim().conditions.empty());
    ASSERT_TRUE(tear_down());
}

TEST_F(DeviceVolumesTest, AClaimsUnitIsGivenAsADevice) {
    core::PersistentVolume volume;
    volume.spec.volume_mode = "Block";
    auto& source = volume.spec.iscsi.emplace();
    source.target_portal = "10.0.0.9:3260";
    source.iqn = "iqn.2026-11.example:t";
    source.lun = 2;
    put_claim_of(volume);
    ASSERT_EQ(set_up(R"("persistentVolumeClaim":{"claimName":"data"})", "u", R"("volumeDevices":[{"name":"v","devicePath":"/dev/x"}])"),
              "/dev/sd2");
    EXPECT_TRUE(mounted.is_block);
    EXPECT_EQ(node.count("mkfs"), 0);
    ASSERT_TRUE(tear_down());
    EXPECT_EQ(node.count("--logout"), 1);
}

TEST_F(DeviceVolumesTest, AVolumeForOnePodIsMountedWithItsSelinuxContext) {
    put_selinux(files, SelinuxMounts);
    SelinuxContexts contexts(Selinux::find(files), false);
    device_host.selinux = &contexts;
    put_claim_of(schema::decode_json<core::PersistentVolume>(R"({"spec":{"accessModes":["ReadWriteOncePod"],"mountOptions":["noatime"],)" +
                                                             unit("1") + "}}")
                     .value());
    const auto set_up_at = [&](const std::string& uid, const std::string& level) {
        const auto made =
            porthole::sim::run(loop, with_devices.set_up(std::make_shared<const core::Pod>(selinux_pod(uid, level)), allocatable));
        return !made ? made.error().message : made->at("v").relabel ? "relabelled" : "as it is";
    };
    ASSERT_EQ(set_up_at("a", "s0:c1"), "as it is");
    EXPECT_EQ(node.count(R"(noatime,context="system_u:object_r:container_file_t:s0:c1")"), 1);
    contexts.forget_pod("a");
    EXPECT_EQ(set_up_at("a", "s0:c2"), "as it is") << "a restarted kubelet leaves it";
    contexts.forget_pod("a");
    EXPECT_THAT(set_up_at("b", "s0:c3"), HasSubstr("with a different SELinux label"));
    ASSERT_TRUE(tear_down("a"));
    ASSERT_TRUE(tear_down("b"));
    EXPECT_EQ(set_up_at("c", ""), "relabelled");
    EXPECT_EQ(node.count("context="), 1);
}

}  // namespace
}  // namespace porthole::kubelet
