#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "kubelet/sim/fake_node.h"
#include "kubelet/volumes/atomic_writer/atomic_writer.h"
#include "kubelet/volumes/host_path/host_path.h"
#include "kubelet/volumes/local_volume/local_volume_reclaimer.h"
#include "kubelet/volumes/volume_manager.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct AtomicWriterTest : testing::Test {
    AtomicWriterTest() { EXPECT_TRUE(files.create_directories("/v", 0755)); }
    Result<bool> write(const Payload& payload) { return writer.write(payload); }
    std::vector<std::string> names() { return files.list("/v").value(); }

    porthole::sim::SimLoop loop;
    SeededRandom random{1};
    porthole::sim::MemoryFileSystem files{loop};
    AtomicWriter writer{files, loop, random, "/v"};
};

TEST_F(AtomicWriterTest, EveryNameGoesThroughOneLink) {
    ASSERT_TRUE(write({{"a", {"1"}}, {"dir/b", {"2", 0400}}}));
    EXPECT_EQ(files.read("/v/a").value(), "1");
    EXPECT_EQ(files.read("/v/dir/b").value(), "2");
    EXPECT_EQ(files.status("/v/dir/b")->mode, 0400u);
    EXPECT_EQ(files.read_link("/v/a").value(), "..data/a");
    EXPECT_THAT(files.read_link("/v/..data").value(), testing::MatchesRegex("\\.\\.2026_01_01_01_00_00\\.[0-9]+"));
    EXPECT_EQ(names().size(), 4u);
}

TEST_F(AtomicWriterTest, NothingIsTouchedWhenNothingDiffers) {
    ASSERT_TRUE(write({{"a", {"1"}}, {"d/b", {"2"}}}).value());
    const std::string before = files.read_link("/v/..data").value();
    EXPECT_FALSE(write({{"a", {"1"}}, {"d/b", {"2"}}}).value());
    EXPECT_EQ(files.read_link("/v/..data").value(), before);
    EXPECT_TRUE(write({{"a", {"1"}}, {"d/c", {"2"}}}).value());
    EXPECT_TRUE(write({{"a", {"1", 0600}}, {"d/c", {"2"}}}).value());
}

TEST_F(AtomicWriterTest, ChangesSwapTheWholeSetAndDropWhatHasGone) {
    ASSERT_TRUE(write({{"a", {"1"}}, {"b", {"1"}}}));
    ASSERT_TRUE(write({{"a", {"2"}}, {"c", {"2"}}}));
    EXPECT_EQ(files.read("/v/a").value(), "2");
    EXPECT_FALSE(files.exists("/v/b"));
    EXPECT_EQ(names().size(), 4u);  // one data directory, ..data, a, c
}

TEST_F(AtomicWriterTest, WithoutLinksTheFilesThemselvesAreReplaced) {
    files.refuse_links(true);
    ASSERT_TRUE(write({{"a", {"1"}}, {"d/b", {"1"}}}).value());
    EXPECT_EQ(files.read("/v/a").value(), "1");
    EXPECT_FALSE(write({{"a", {"1"}}, {"d/b", {"1"}}}).value());
    ASSERT_TRUE(write({{"a", {"2"}}, {"d/c", {"2"}}}).value());
    EXPECT_EQ(files.read("/v/a").value(), "2");
    EXPECT_EQ(files.read("/v/d/c").value(), "2");
    EXPECT_FALSE(files.exists("/v/d/b"));
    EXPECT_EQ(names().size(), 2u);
}

TEST_F(AtomicWriterTest, PathsThatLeadOutAreRefused) {
    for (const char* path : {"", "/a", "..", "../a", "a/../b", "..data"}) EXPECT_FALSE(write({{path, {"x"}}})) << path;
    EXPECT_TRUE(names().empty());
}

TEST_F(AtomicWriterTest, AFullDiskLeavesTheOldSet) {
    ASSERT_TRUE(write({{"a", {"1"}}}));
    files.fail_writes(true);
    EXPECT_FALSE(write({{"a", {"2"}}}));
    EXPECT_EQ(files.read("/v/a").value(), "1");
}

struct Tokens final : TokenSource {
    int asked = 0;
    Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod>, std::string audience, std::int64_t) override {
        ++asked;
        co_return ServiceAccountToken{"token-for-" + audience, {}};
    }
    void forget_pod(const std::string&) override {}
};

struct Objects final : ObjectSource {
    std::map<std::string, core::ConfigMap> maps;
    std::map<std::string, core::Secret> secrets;
    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string, std::string name) override {
        if (!maps.contains(name)) co_return Error(Reason::NotFound, "configmap \"" + name + "\" not found");
        co_return std::make_shared<const core::ConfigMap>(maps[name]);
    }
    Task<std::shared_ptr<const core::Secret>> secret(std::string, std::string name) override {
        if (!secrets.contains(name)) co_return Error(Reason::NotFound, "secret \"" + name + "\" not found");
        co_return std::make_shared<const core::Secret>(secrets[name]);
    }
};

struct Images final : ImageVolumes {
    explicit Images(sim::FakeMounter& of) : mounter(of) {}
    Task<> mount(std::shared_ptr<const core::Pod>, core::ImageVolumeSource source, std::string directory) override {
        if (source.reference == "missing:1") co_return Error(Reason::Unavailable, "ErrImagePull: not found");
        ++asked;
        mounter.mounts[directory] = source.reference;
        co_return {};
    }
    sim::FakeMounter& mounter;
    int asked = 0;
};

struct VolumesTest : testing::Test {
    VolumesTest() {
        objects.maps["settings"].data = {{"color", "red"}, {"size", "9"}};
        objects.secrets["hidden"].data = {{"password", "pw"}};
    }
    /// `spec` has the volumes; the container mounts each at "/<name>".
    Result<std::vector<cri::Mount>> mounts(const std::string& spec) {
        core::Pod made = schema::decode_json<core::Pod>(
                             R"({"metadata":{"name":"p","namespace":"ns","uid":"u","labels":{"app":"x"}},"spec":)" + spec + "}")
                             .value();
        if (made.spec.containers.empty()) {
            core::Container& container = made.spec.containers.emplace_back();
            container.name = "c";
            for (const core::Volume& volume : made.spec.volumes) {
                core::VolumeMount& mount = container.volume_mounts.emplace_back();
                mount.name = volume.name;
                mount.mount_path = "/" + volume.name;
            }
        }
        pod = std::make_shared<core::Pod>(std::move(made));
        TRY(const MountedVolumes volumes, porthole::sim::run(loop, manager.set_up(pod, allocatable)));
        TRY(devices, manager.devices_for(pod->spec.containers[0], volumes));
        return manager.mounts_for(*pod, pod->spec.containers[0], volumes, {{"POD", "p"}}, recursive_read_only);
    }

    porthole::sim::SimLoop loop;
    SeededRandom random{1};
    porthole::sim::MemoryFileSystem files{loop};
    porthole::sim::SimWorkerPool pool{loop};
    sim::FakeMounter mounter;
    Objects objects;
    Tokens tokens;
    client::FakeApi api{loop};
    client::Client client{api};
    client::EventRecorder events{loop, client, Logger(make_null_sink(), ""), "kubelet", "n1"};
    ResourceList allocatable{{"cpu", Quantity::from_value(4)}, {"memory", Quantity::from_value(8ll << 30)}};
    bool recursive_read_only = false;
    std::vector<cri::Device> devices;  ///< that mounts() found
    Images images{mounter};
    VolumeManager manager{
        {loop, random, files, pool, mounter, objects, tokens, client, events, &images}, Logger(make_null_sink(), ""), "/k"};
    std::shared_ptr<const core::Pod> pod;
};

TEST_F(VolumesTest, ImagesAreMountedOnceAndForReadingOnly) {
    const std::string spec = R"({"volumes":[{"name":"data","image":{"reference":"data:1","pullPolicy":"Always"}}]})";
    const auto first = mounts(spec);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_TRUE(first->at(0).readonly) << "whatever the container asks";
    const std::string directory = first->at(0).host_path;
    EXPECT_EQ(mounter.mounts[directory], "data:1");
    EXPECT_TRUE(mounter.read_only.contains(directory));
    ASSERT_TRUE(mounts(spec));
    EXPECT_EQ(images.asked, 1) << "a later sync of the pod finds it mounted";
    ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    EXPECT_TRUE(mounter.mounts.empty());
}

TEST_F(VolumesTest, AnImageThatIsNotThereFailsItsVolume) {
    EXPECT_EQ(mounts(R"({"volumes":[{"name":"data","image":{"reference":"missing:1"}}]})").error().message,
              "MountVolume.SetUp failed for volume \"data\" : ErrImagePull: not found");
}

TEST_F(VolumesTest, ANodeWithoutImageVolumesSaysSo) {
    VolumeManager other{{loop, random, files, pool, mounter, objects, tokens, client, events}, Logger(make_null_sink(), ""), "/k"};
    (void)mounts(R"({"volumes":[{"name":"data","image":{"reference":"data:1"}}]})");
    EXPECT_EQ(porthole::sim::run(loop, other.set_up(pod, {})).error().message,
              "MountVolume.SetUp failed for volume \"data\" : image volumes are not supported on this node");
}

TEST_F(VolumesTest, ChosenKeysGetTheirPathsAndModes) {
    const auto result = mounts(
        R"({"volumes":[{"name":"v","configMap":{"name":"settings","defaultMode":256,"items":[{"key":"color","path":"sub/c","mode":292}]}},
                                              {"name":"s","secret":{"secretName":"hidden"}}]})");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)[0].host_path, "/k/pods/u/volumes/kubernetes.io~configmap/v");
    EXPECT_EQ(files.read("/k/pods/u/volumes/kubernetes.io~configmap/v/sub/c").value(), "red");
    EXPECT_EQ(files.status("/k/pods/u/volumes/kubernetes.io~configmap/v/sub/c")->mode, 0444u);
    EXPECT_FALSE(files.exists("/k/pods/u/volumes/kubernetes.io~configmap/v/size"));
    EXPECT_EQ(files.read("/k/pods/u/volumes/kubernetes.io~secret/s/password").value(), "pw");
}

TEST_F(VolumesTest, MissingSourcesSayWhichVolume) {
    EXPECT_EQ(mounts(R"({"volumes":[{"name":"v","configMap":{"name":"none"}}]})").error().message,
              "MountVolume.SetUp failed for volume \"v\" : configmap \"none\" not found");
    EXPECT_THAT(mounts(R"({"volumes":[{"name":"v","configMap":{"name":"settings","items":[{"key":"x","path":"x"}]}}]})").error().message,
                HasSubstr("configmap references non-existent configmap key: x"));
    EXPECT_TRUE(mounts(R"({"volumes":[{"name":"v","configMap":{"name":"none","optional":true}}]})"));
    EXPECT_THAT(mounts(R"({"volumes":[{"name":"v","nfs":{"server":"x","path":"/"}}]})").error().message, HasSubstr("no plugin"));
}

TEST_F(VolumesTest, ProjectedVolumesJoinTheirSources) {
    const auto result =
        mounts(R"({"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"token","audience":"vault"}},
        {"configMap":{"name":"settings","items":[{"key":"color","path":"color"}]}},
        {"downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},
                                 {"path":"cpu","resourceFieldRef":{"containerName":"c","resource":"limits.cpu"}}]}}]}}]})");
    ASSERT_TRUE(result) << result.error().message;
    const std::string directory = (*result)[0].host_path;
    EXPECT_EQ(files.read(directory + "/token").value(), "token-for-vault");
    EXPECT_EQ(files.read(directory + "/color").value(), "red");
    EXPECT_EQ(files.read(directory + "/labels").value(), "app=\"x\"");
    EXPECT_EQ(files.read(directory + "/cpu").value(), "4");
}

TEST_F(VolumesTest, EmptyDirOutlivesASecondSetUpAndEndsWithThePod) {
    const char* spec = R"({"volumes":[{"name":"v","emptyDir":{}},{"name":"m","emptyDir":{"medium":"Memory"}}]})";
    const auto result = mounts(spec);
    ASSERT_TRUE(result);
    const std::string directory = (*result)[0].host_path;
    EXPECT_EQ(files.status(directory)->mode, 0777u);
    ASSERT_TRUE(files.write(directory + "/f", "kept", 0644));
    ASSERT_TRUE(mounts(spec));
    EXPECT_EQ(files.read(directory + "/f").value(), "kept");
    EXPECT_EQ(mounter.mounts.size(), 1u);
    ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    EXPECT_TRUE(mounter.mounts.empty());
    EXPECT_FALSE(files.exists("/k/pods/u"));
}

TEST_F(VolumesTest, FsGroupOwnsWhatIsWritten) {
    const auto result = mounts(
        R"({"securityContext":{"fsGroup":2000},"volumes":[{"name":"e","emptyDir":{}},{"name":"s","secret":{"secretName":"hidden"}}]})");
    ASSERT_TRUE(result);
    EXPECT_EQ(files.status((*result)[0].host_path)->gid, 2000u);
    EXPECT_EQ(files.status((*result)[0].host_path)->mode, 02777u);
    EXPECT_EQ(files.status((*result)[1].host_path + "/password")->gid, 2000u);
}

TEST_F(VolumesTest, SubPathsAreBoundAndMayNotLeadOut) {
    const auto with = [&](const std::string& field) {
        return mounts(R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/m",)" +
                      field + "}]}]}");
    };
    const auto result = with(R"j("subPathExpr":"logs/$(POD)","readOnly":true)j");
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)[0].host_path, "/k/pods/u/volume-subpaths/v/c/0");
    EXPECT_THAT(mounter.mounts.at((*result)[0].host_path), HasSubstr("/v/logs/p"));
    EXPECT_TRUE((*result)[0].readonly);
    EXPECT_FALSE(with(R"("subPath":"../x")"));
    EXPECT_FALSE(with(R"("subPath":"/x")"));
    EXPECT_FALSE(with(R"j("subPathExpr":"$(NONE)")j"));
}

TEST_F(VolumesTest, RecursiveReadOnlyMountsAreAsTheRuntimeCan) {
    const auto with = [&](const std::string& mode, const std::string& more = R"("readOnly":true)") {
        return mounts(R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/m",)" +
                      more + R"(,"recursiveReadOnly":")" + mode + R"("}]}]})");
    };
    const std::string start = "volume \"v\" requested recursive read-only mode, but it is not ";
    EXPECT_EQ(with("Enabled").error().message, start + "supported by the runtime");
    EXPECT_FALSE(with("IfPossible")->at(0).recursive_read_only);
    recursive_read_only = true;
    EXPECT_TRUE(with("Enabled")->at(0).recursive_read_only);
    EXPECT_TRUE(with("IfPossible")->at(0).recursive_read_only);
    EXPECT_FALSE(with("Disabled")->at(0).recursive_read_only);
    EXPECT_EQ(with("Enabled", R"("readOnly":false)").error().message, start + "read-only");
    EXPECT_EQ(with("Enabled", R"("readOnly":true,"mountPropagation":"HostToContainer")").error().message,
              start + "compatible with propagation \"HostToContainer\"");
}

TEST_F(VolumesTest, WhatComesFromTheApiIsForReadingAndInMemoryButForConfigMaps) {  // SEC-03
    const auto made = mounts(R"({"volumes":[{"name":"s","secret":{"secretName":"hidden"}},{"name":"d","downwardAPI":{}},
        {"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}},{"name":"c","configMap":{"name":"settings"}}]})");
    ASSERT_TRUE(made) << made.error().message;
    for (const cri::Mount& mount : *made) {
        EXPECT_TRUE(mount.readonly) << mount.host_path;
        EXPECT_EQ(mounter.mounts.contains(mount.host_path), mount.container_path != "/c") << mount.host_path;
    }
    EXPECT_EQ(mounter.sizes[made->at(0).host_path], 8ull << 30) << "no more than the node can give";
    ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    EXPECT_TRUE(mounter.mounts.empty());
}

// SEC-01, LIM-42
TEST_F(VolumesTest, SEC01_OnWindowsWhatIsConfidentialIsClosedToAllButAdministratorsAndTheContainersAccount) {
    (void)mounts(R"({"volumes":[{"name":"s","secret":{"secretName":"hidden","defaultMode":256}},
        {"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}},{"name":"c","configMap":{"name":"settings"}}]})");
    VolumeManager windows{
        {loop, random, files, pool, mounter, objects, tokens, client, events, nullptr, nullptr, true}, Logger(make_null_sink(), ""), "/w"};
    const auto set_up = [&] { return porthole::sim::run(loop, windows.set_up(pod, allocatable)).value(); };
    const MountedVolumes volumes = set_up();
    const std::string secret = volumes.at("s").path, projected = volumes.at("p").path, open = volumes.at("c").path;
    const std::set<std::string> nobody, user{"S-1-5-93-2-2"};
    EXPECT_EQ(files.readers(secret), nobody);
    EXPECT_EQ(files.readers(projected), nobody);
    EXPECT_EQ(files.readers(open), std::nullopt);
    EXPECT_EQ(files.status(secret + "/password")->mode, 0644u)
        << "a mode without rights for others would be an access list of the file's own";
    ASSERT_TRUE(windows.admit(pod->spec.containers[0], volumes, "S-1-5-93-2-2"));
    EXPECT_EQ(files.readers(secret), user);
    EXPECT_EQ(files.readers(projected), user);
    EXPECT_EQ(files.readers(open), std::nullopt);
    (void)set_up();
    EXPECT_EQ(files.readers(secret), user) << "containers that run go on reading";
}

// SEC-01
TEST_F(VolumesTest, SEC01_ContainersOfAKubeletThatDidNotRestrictSecretsGoOnReadingThem) {
    const char* volume = R"({"volumes":[{"name":"s","secret":{"secretName":"hidden"}}],"containers":[)";
    const auto readers_after = [&](const std::string& containers) {
        (void)mounts(volume + containers + "]}");
        const std::string secret = "/w/pods/u/volumes/kubernetes.io~secret/s";
        EXPECT_TRUE(files.remove_all(secret));
        EXPECT_TRUE(files.create_directories(secret + "/..data", 0755));
        VolumeManager windows{{loop, random, files, pool, mounter, objects, tokens, client, events, nullptr, nullptr, true},
                              Logger(make_null_sink(), ""),
                              "/w"};
        EXPECT_TRUE(porthole::sim::run(loop, windows.set_up(pod, allocatable)));
        return files.readers(secret);
    };
    const auto container = [](const std::string& name, const std::string& user, const std::string& volume_name) {
        return R"({"name":")" + name + R"(","volumeMounts":[{"name":")" + volume_name + R"(","mountPath":"/s"}],)" +
               R"("securityContext":{"windowsOptions":{)" + user + "}}}";
    };
    using Readers = std::set<std::string>;
    EXPECT_EQ(readers_after(container("a", R"("runAsUserName":"ContainerUser")", "s") + "," +
                            container("b", R"("runAsUserName":"NT AUTHORITY\\LOCAL SERVICE")", "other")),
              (Readers{"S-1-5-93-2-2"}))
        << "those that mount it";
    EXPECT_EQ(readers_after(container("a", "", "s")), Readers{"S-1-5-93-0"}) << "any account of a container where the image says which";
    EXPECT_EQ(readers_after(container("a", R"("runAsUserName":"ContainerAdministrator")", "s")), Readers());
    EXPECT_EQ(readers_after(container("a", R"("hostProcess":true)", "s")), Readers());
}

TEST_F(VolumesTest, FilesThatAKubeletOfBeforeLeftOnTheDiskStayInSight) {
    const char* spec = R"({"volumes":[{"name":"s","secret":{"secretName":"hidden"}}]})";
    ASSERT_TRUE(files.create_directories("/k/pods/u/volumes/kubernetes.io~secret/s/..data", 0755));
    ASSERT_TRUE(mounts(spec));
    EXPECT_TRUE(mounter.mounts.empty()) << "running containers would not see what is mounted over them";
}

TEST_F(VolumesTest, MemoryIsNoLargerThanItsLimits) {
    const auto size = [&](const std::string& limit, const std::string& containers) {
        const auto made = mounts(R"({"volumes":[{"name":"m","emptyDir":{"medium":"Memory")" + limit +
                                 R"(}}],"containers":[{"name":"c","volumeMounts":[{"name":"m","mountPath":"/m"}])" + containers + "]}");
        EXPECT_TRUE(made) << made.error().message;
        EXPECT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
        return mounter.sizes[made->at(0).host_path] >> 20;
    };
    const std::string half = R"(,"resources":{"limits":{"memory":"512Mi"}}})";
    EXPECT_EQ(size("", "}"), 8192u) << "the node's";
    EXPECT_EQ(size("", half), 512u);
    EXPECT_EQ(size("", half + R"(,{"name":"free"})"), 8192u) << "a container without limit has the pod's memory without limit";
    EXPECT_EQ(size(R"(,"sizeLimit":"64Mi")", half), 64u);
    EXPECT_EQ(size(R"(,"sizeLimit":"1Gi")", half), 512u);
    EXPECT_EQ(size(R"(,"sizeLimit":"0")", "}"), 8192u);
}

TEST_F(VolumesTest, HugePagesAreThoseThatContainersAskFor) {
    const auto with = [&](const std::string& medium, const std::string& first, const std::string& second = "") {
        const auto container = [](const std::string& name, const std::string& requests) {
            return R"({"name":")" + name + R"(","resources":{"requests":{)" + requests +
                   R"(}},"volumeMounts":[{"name":"h","mountPath":"/h"}]})";
        };
        return mounts(R"({"volumes":[{"name":"h","emptyDir":{"medium":")" + medium + R"("}}],"containers":[)" + container("c", first) +
                      "," + container("d", second) + "]}");
    };
    const std::string small = R"("hugepages-2Mi":"4Mi")", large = R"("hugepages-1Gi":"1Gi")";
    const std::string failed = "MountVolume.SetUp failed for volume \"h\" : ";
    EXPECT_EQ(with("HugePages", "").error().message,
              failed + "medium HugePages: hugePages storage requested, but there is no resource request for huge pages");
    EXPECT_EQ(with("HugePages", small, large).error().message,
              failed + "medium: HugePages can't be used if container requests multiple huge page sizes");
    EXPECT_EQ(with("HugePages-1Gi", small).error().message,
              failed + "medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages");
    const auto made = with("HugePages-1Gi", small, large);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(mounter.mounts[made->at(0).host_path], "hugetlbfs");
    EXPECT_EQ(mounter.sizes[made->at(0).host_path], 1ull << 30);
    ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    ASSERT_TRUE(with("HugePages", small));
    EXPECT_EQ(mounter.sizes[made->at(0).host_path], 2ull << 20);
}

TEST_F(VolumesTest, AnEmptyDirIsGivenToItsGroupOnceAndForAll) {
    const char* spec = R"({"securityContext":{"fsGroup":2000},"volumes":[{"name":"e","emptyDir":{}}]})";
    const std::string directory = "/k/pods/u/volumes/kubernetes.io~empty-dir/e";
    ASSERT_TRUE(files.create_directories(directory, 0777));  // by a kubelet that was killed then
    ASSERT_TRUE(mounts(spec));
    EXPECT_EQ(files.status(directory)->gid, 2000u);
    ASSERT_TRUE(files.change_mode(directory, 0700));  // as databases do with theirs
    ASSERT_TRUE(mounts(spec));
    EXPECT_EQ(files.status(directory)->mode, 0700u);
}

TEST_F(VolumesTest, MemoryThatTheNodeLostIsMountedAnew) {
    const char* spec = R"({"securityContext":{"fsGroup":2000},"volumes":[{"name":"m","emptyDir":{"medium":"Memory"}}]})";
    const auto first = mounts(spec);
    ASSERT_TRUE(first);
    mounter.mounts.clear();  // the node was restarted
    ASSERT_TRUE(files.change_owner(first->at(0).host_path, 0, 0));
    ASSERT_TRUE(mounts(spec));
    EXPECT_TRUE(mounter.mounts.contains(first->at(0).host_path));
    EXPECT_EQ(files.status(first->at(0).host_path)->gid, 2000u);
}

TEST_F(VolumesTest, HostPathTypesAreChecked) {
    ASSERT_TRUE(files.create_directories("/host/dir", 0755));
    ASSERT_TRUE(files.write("/host/file", "", 0644));
    struct {
        const char* path;
        const char* type;
        bool fits;
    } const rows[] = {
        {"/host/none", "", true},
        {"/host/dir", "Directory", true},
        {"/host/file", "Directory", false},
        {"/host/none", "File", false},
        {"/host/file", "File", true},
        {"/host/new", "DirectoryOrCreate", true},
        {"/host/new.txt", "FileOrCreate", true},
        {"/host/dir", "Socket", false},
    };
    for (const auto& row : rows) EXPECT_EQ(check_host_path(files, row.path, row.type).has_value(), row.fits) << row.path << " " << row.type;
    EXPECT_TRUE(files.status("/host/new")->is_directory());
    EXPECT_EQ(check_host_path(files, "/host/file", "Directory").error().message,
              "hostPath type check failed: /host/file is not a directory");
}

/// A claim "data" that is bound to a local volume "pv1" at /disks/1.
struct ClaimTest : VolumesTest {
    ClaimTest() {
        core::PersistentVolumeClaim claim;
        claim.metadata.name = "data";
        claim.metadata.namespace_ = "ns";
        claim.spec.volume_name = "pv1";
        claim.status.phase = "Bound";
        core::PersistentVolume volume;
        volume.metadata.name = "pv1";
        volume.spec.local.emplace().path = "/disks/1";
        volume.spec.claim_ref.emplace().uid = api.put(claim).metadata.uid;
        api.put(volume);
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
    api.change<core::PersistentVolumeClaim>({"ns", "data"}, [&](auto& c) {
        c.metadata.finalizers = {"kubernetes.io/pvc-protection"};
        c.metadata.deletion_timestamp = Timestamp(loop.wall_now());
    });
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
    VolumeManager on(LocalVolumes& volumes) {
        return {
            {loop, random, files, pool, mounter, objects, tokens, client, events, nullptr, &volumes}, Logger(make_null_sink(), ""), "/k"};
    }

    core::PersistentVolume volume;
    FakeDisks disks{files, mounter};
    LocalVolumes local{loop, files, &disks, "/k"}, plain{loop, files, nullptr, "/k"};
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
        claim.status.conditions.emplace_back().type = "FileSystemResizePending";
        claim.status.allocated_resource_statuses["storage"] = "NodeResizePending";
    });
    EXPECT_EQ(path(linux_node), Directory);
    EXPECT_EQ(disks.sizes[Image], 2ull << 30);
    const auto status = api.find<core::PersistentVolumeClaim>({"ns", "data"})->status;
    EXPECT_EQ(status.capacity.at("storage").to_string(), "2Gi");
    EXPECT_TRUE(status.conditions.empty());
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

TEST_F(LocalVolumesTest, DoNotGrowOnWindows) {  // STO-18
    put_volume();
    volume.spec.capacity["storage"] = *Quantity::parse("2Gi");
    api.put(volume);
    EXPECT_EQ(path(windows_node), "/k/local-volumes/pvc-1/data") << "the pod goes on with what it has";
    EXPECT_EQ((api.find<core::PersistentVolumeClaim>({"ns", "data"})->status.capacity.at("storage").to_string()), "1Gi");
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
