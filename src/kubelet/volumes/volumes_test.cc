#include "api/certificates_v1beta1.h"
#include "kubelet/volumes/host_path/host_path.h"
#include "kubelet/volumes/selinux/selinux_fixture.h"
#include "kubelet/volumes/volumes_fixture.h"
#include "runtime/scope.h"
#include "windows/builds.h"

namespace porthole::kubelet {
namespace {

TEST_F(VolumesTest, ManyVolumesTakeLinearTime) {
    constexpr int Volumes = 2'000;
    std::string volumes, uses;
    for (int i = 0; i < Volumes; ++i) {
        const std::string name = "v" + std::to_string(i), comma = i == 0 ? "" : ",";
        volumes += comma + R"({"name":")" + name + R"(","emptyDir":{}})";
        uses += comma + R"({"name":")" + name + R"(","mountPath":"/)" + name + R"("})";
    }
    const auto many = std::make_shared<const core::Pod>(
        schema::decode_json<core::Pod>(R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"volumes":[)" + volumes +
                                       R"(],"containers":[{"name":"c","volumeMounts":[)" + uses + "]}]}}")
            .value());
    const auto mounted = porthole::sim::run(loop, manager.set_up(many, {}));
    ASSERT_TRUE(mounted) << mounted.error().message;
    EXPECT_EQ(mounted->size(), static_cast<std::size_t>(Volumes));
}

TEST_F(VolumesTest, ImagesAreMountedOnceAndForReadingOnly) {
    const std::string spec = R"({"volumes":[{"name":"data","image":{"reference":"data:1","pullPolicy":"Always"}}]})";
    const auto first = mounts(spec);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_TRUE(first->at(0).readonly) << "whatever the container asks";
    const std::string directory = first->at(0).host_path;
    EXPECT_EQ(mounter.mounts[directory], "data:1");
    EXPECT_TRUE(mounter.read_only.contains(directory));
    ASSERT_TRUE(mounts(spec));
    EXPECT_EQ(images.policies.size(), 1u) << "a later sync of the pod finds it mounted";
    ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    EXPECT_TRUE(mounter.mounts.empty());
}

TEST_F(VolumesTest, ImagesOfPodsWithOwnUsersAreMountedByTheRuntime) {
    const std::string spec = R"({"hostUsers":false,"volumes":[{"name":"data","image":{"reference":"data:1","pullPolicy":"Always"}}]})";
    for (int sync = 0; sync < 2; ++sync) {
        const auto made = mounts(spec);
        ASSERT_TRUE(made) << made.error().message;
        ASSERT_TRUE(made->at(0).image);
        EXPECT_EQ(made->at(0).image->image, "data:1");
        EXPECT_EQ(made->at(0).host_path, "");
        EXPECT_TRUE(made->at(0).readonly);
    }
    EXPECT_TRUE(mounter.mounts.empty());
    EXPECT_EQ(images.policies, (std::vector<std::string>{"Always", "IfNotPresent"})) << "registries are asked once";
}

TEST_F(VolumesTest, AnImageThatIsNotThereFailsItsVolume) {
    EXPECT_EQ(mounts(R"({"volumes":[{"name":"data","image":{"reference":"missing:1"}}]})").error().message,
              "MountVolume.SetUp failed for volume \"data\" : ErrImagePull: not found");
}

TEST_F(VolumesTest, ANodeWithoutImageVolumesSaysSo) {
    VolumeManager other = manager_on(host);
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
    EXPECT_THAT(mounts(R"({"volumes":[{"name":"v","glusterfs":{"endpoints":"x","path":"/"}}]})").error().message, HasSubstr("no plugin"));
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

TEST_F(VolumesTest, ATokenIsOfTheUserThatAllContainersRunAs) {
    const struct {
        const char *name, *pod, *init, *container;
        std::uint32_t owner, mode;
    } rows[] = {
        {"the pod says it", R"("runAsUser":7)", "", "", 7, 0600},
        {"each says the same", "", R"("runAsUser":7)", R"("runAsUser":7)", 7, 0600},
        {"one says another than the pod", R"("runAsUser":7)", "", R"("runAsUser":8)", 0, 0644},
        {"of one the image says it", "", "", R"("runAsUser":8)", 0, 0644},
        {"a group", R"("fsGroup":9)", "", R"("runAsUser":8)", 0, 0640},
        {"a user and a group", R"("runAsUser":7,"fsGroup":9)", "", "", 7, 0640},
    };
    const auto container = [](const std::string& name, const std::string& security) {
        return R"({"name":")" + name + R"(","securityContext":{)" + security + R"(},"volumeMounts":[{"name":"v","mountPath":"/v"}]})";
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto made = mounts(std::string(R"({"securityContext":{)") + row.pod + R"(},"initContainers":[)" + container("i", row.init) +
                                 R"(],"containers":[)" + container("c", row.container) +
                                 R"(],"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}]})");
        ASSERT_TRUE(made) << made.error().message;
        const auto token = files.status(made->at(0).host_path + "/token");
        EXPECT_EQ(token->uid, row.owner);
        EXPECT_EQ(token->mode, row.mode);
        ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    }
}

std::string certificate(const std::string& base64) { return "-----BEGIN CERTIFICATE-----\n" + base64 + "\n-----END CERTIFICATE-----\n"; }

TEST_F(VolumesTest, TrustBundlesAreJoinedAndEachCertificateIsThereOnce) {
    const auto put = [this](const std::string& name, const std::string& signer, const std::string& label, const std::string& bundle) {
        api::certificates::v1beta1::ClusterTrustBundle made;
        made.metadata.name = name;
        made.metadata.labels["live"] = label;
        made.spec.signer_name = signer;
        made.spec.trust_bundle = bundle;
        api.put(made);
        loop.advance(std::chrono::seconds(10));
    };
    const std::string a = certificate("YWE="), b = certificate("YmI="), c = certificate("Y2M=");
    put("own", "", "yes", "a comment\n" + b + b);
    put("x:s:1", "x/s", "yes", b + a);
    put("x:s:2", "x/s", "yes", a);
    put("x:s:3", "x/s", "no", c);
    put("y:s:1", "y/s", "yes", c);
    const auto shown = [this](const std::string& source) {
        const std::string sources = R"([{"clusterTrustBundle":{)" + source + R"(,"path":"roots.pem"}}])";
        const auto made = mounts(R"({"securityContext":{"runAsUser":7},"volumes":[{"name":"v","projected":{"sources":)" + sources + "}}]}");
        if (!made) return made.error().message;
        EXPECT_EQ(files.status(made->at(0).host_path + "/roots.pem")->mode, 0600u);
        return files.read(made->at(0).host_path + "/roots.pem").value();
    };
    EXPECT_EQ(shown(R"("name":"own")"), b);
    EXPECT_EQ(shown(R"("signerName":"x/s","labelSelector":{"matchLabels":{"live":"yes"}})"), a + b);
    EXPECT_EQ(shown(R"("signerName":"x/s","labelSelector":{})"), a + b + c);
    const std::string failed = "MountVolume.SetUp failed for volume \"v\" : ";
    EXPECT_EQ(shown(R"("signerName":"x/s")"), failed + "combination of signerName and labelSelector matched zero ClusterTrustBundles");
    EXPECT_EQ(shown(R"("name":"none")"), failed + "clustertrustbundle.certificates.k8s.io \"none\" not found");
    EXPECT_EQ(shown(R"("name":"none","optional":true)"), "");
    EXPECT_EQ(shown(R"("optional":true)"), failed + "ClusterTrustBundle projection requires either name or signerName to be set");
    put("own", "", "yes", c);
    EXPECT_EQ(shown(R"("name":"own")"), c) << "it is brought up to date";
    put("own", "", "yes", "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n");
    EXPECT_EQ(shown(R"("name":"own")"), "") << "the API server admits none of these";
}

TEST_F(VolumesTest, ThousandsOfTrustBundlesAreListedOnceInTenSeconds) {
    std::string sources;
    for (int i = 0; i < 1000; ++i)
        sources += (i ? "," : "") + (R"({"clusterTrustBundle":{"name":"none","optional":true,"path":")" + std::to_string(i)) + R"("}})";
    const std::string pod = R"({"volumes":[{"name":"v","projected":{"sources":[)" + sources + "]}}]}";
    const auto lists = [this] {
        return std::ranges::count_if(api.requests(), [](const auto& seen) { return seen.path.contains("clustertrustbundles"); });
    };
    ASSERT_TRUE(mounts(pod));
    EXPECT_EQ(lists(), 1);
    loop.advance(std::chrono::milliseconds(1500));
    ASSERT_TRUE(mounts(pod));
    EXPECT_EQ(lists(), 2) << "one that matches nothing may have been made since";
}

TEST_F(VolumesTest, CopiesOfGitRepositoriesAreRefusedAsByUpstream) {
    EXPECT_EQ(mounts(R"({"volumes":[{"name":"v","gitRepo":{"repository":"r"}}]})").error().message,
              "MountVolume.SetUp failed for volume \"v\" : git-repo volume plugin has been disabled; if necessary, it may be re-enabled by "
              "enabling the feature-gate `GitRepoVolumeDriver`");
}

TEST_F(VolumesTest, FilesThatMultiplyAreRefused) {
    objects.maps["large"].data = {{"k", std::string(1 << 20, 'x')}};
    const std::string refusal = "MountVolume.SetUp failed for volume \"v\" : the files of the volume have more than 67108864 bytes";
    std::string items, sources;
    for (int i = 0; i < 70; ++i) {
        items += (i ? "," : "") + std::string(R"({"key":"k","path":"p)") + std::to_string(i) + "\"}";
        sources += (i ? "," : "") + std::string(R"({"configMap":{"name":"large"}})");
    }
    EXPECT_EQ(mounts(R"({"volumes":[{"name":"v","configMap":{"name":"large","items":[)" + items + "]}}]}").error().message, refusal);
    EXPECT_EQ(mounts(R"({"volumes":[{"name":"v","projected":{"sources":[)" + sources + "]}}]}").error().message, refusal);
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

TEST_F(VolumesTest, AreCountedAndTimed) {
    const char* spec = R"({"volumes":[{"name":"d","emptyDir":{}},{"name":"h","hostPath":{"path":"/there","type":"Directory"}}]})";
    EXPECT_FALSE(mounts(spec));
    const auto has = [&](const std::string& line) {
        std::string text;
        manager.append_metrics(text);
        return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
    };
    const auto count = [](const char* operation, const char* status, const char* plugin, const char* number) {
        return std::string("storage_operation_duration_seconds_count{migrated=\"false\",operation_name=\"") + operation + "\",status=\"" +
               status + "\",volume_plugin=\"kubernetes.io/" + plugin + "\"} " + number;
    };
    EXPECT_TRUE(has(count("volume_mount", "fail-unknown", "host-path", "1")));
    EXPECT_TRUE(has(R"(volume_manager_total_volumes{plugin_name="kubernetes.io/host-path",state="desired_state_of_world"} 1)"));
    EXPECT_FALSE(has(R"(volume_manager_total_volumes{plugin_name="kubernetes.io/host-path",state="actual_state_of_world"} 1)"));
    ASSERT_TRUE(files.create_directories("/there", 0755));
    EXPECT_TRUE(mounts(spec));
    EXPECT_TRUE(mounts(spec)) << "a refresh is not another mount";
    EXPECT_TRUE(has(count("volume_mount", "success", "empty-dir", "2")));
    EXPECT_TRUE(has(count("volume_mount", "success", "host-path", "1")));
    EXPECT_TRUE(has(R"(volume_manager_total_volumes{plugin_name="kubernetes.io/host-path",state="actual_state_of_world"} 1)"));
    EXPECT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    EXPECT_TRUE(has(count("volume_unmount", "success", "empty-dir", "1")));
    EXPECT_FALSE(has(R"(volume_manager_total_volumes{plugin_name="kubernetes.io/host-path",state="actual_state_of_world"} 1)"));
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

TEST_F(VolumesTest, WorkersLookIntoVolumesAndRemoveWhatContainersLeave) {
    ASSERT_TRUE(mounts(R"({"volumes":[{"name":"v","emptyDir":{}}]})"));
    BusyWorkers workers(loop);
    const VolumeHost slow_host = host_with(workers, programs);
    VolumeManager busy = manager_on(slow_host);
    core::Container container;
    container.name = "c";
    container.volume_mounts.emplace_back().name = "v";
    container.volume_mounts.front().sub_path = "a";
    Scope scope(loop);
    bool bound = false;
    scope.spawn([](VolumeManager& busy, VolumesTest& test, const core::Container& container, bool& bound) -> Task<> {
        const MountedVolumes volumes = *test.manager.find_mounted("u");
        CO_TRY_VOID(co_await busy.mounts_for(*test.pod, container, volumes, {}, false));
        bound = true;
        co_return {};
    }(busy, *this, container, bound));
    loop.advance(1s);
    EXPECT_TRUE(mounter.mounts.empty()) << "the kubelet's loop does not wait for the volume";
    workers.release();
    loop.advance(1s);
    EXPECT_TRUE(bound);

    scope.spawn(busy.tear_down("u"));
    for (int step = 0; step < 3; ++step) {  // mounts below it, its own, and what it is
        loop.advance(1s);
        EXPECT_TRUE(files.exists("/k/pods/u")) << step;
        workers.release();
    }
    loop.advance(1s);
    EXPECT_FALSE(files.exists("/k/pods/u"));
}

TEST_F(VolumesTest, FewSubPathsAreBoundAtATimeInVolumesOfOtherServers) {
    std::string volume_mounts;
    for (int i = 0; i < 12; ++i)
        volume_mounts += R"({"name":"nfs","mountPath":"/m)" + std::to_string(i) + R"(","subPath":"s)" + std::to_string(i) + R"("},)";
    volume_mounts += R"({"name":"own","mountPath":"/own","subPath":"s"})";
    ASSERT_TRUE(mounts(R"({"volumes":[{"name":"nfs","nfs":{"server":"s","path":"/"}},{"name":"own","emptyDir":{}}],"containers":[
        {"name":"c","volumeMounts":[)" +
                       volume_mounts + "]}]}"));
    BusyWorkers workers(loop);
    const VolumeHost slow_host = host_with(workers, programs);
    VolumeManager busy = manager_on(slow_host);
    Scope scope(loop);
    int bound = 0;
    std::vector<core::Container> containers;
    for (const core::VolumeMount& mount : pod->spec.containers[0].volume_mounts) {
        containers.emplace_back().name = "c" + std::to_string(containers.size());
        containers.back().volume_mounts = {mount};
    }
    for (const core::Container& container : containers)
        scope.spawn([](VolumeManager& busy, VolumesTest& test, const core::Container& container, int& bound) -> Task<> {
            const MountedVolumes volumes = *test.manager.find_mounted("u");
            CO_TRY_VOID(co_await busy.mounts_for(*test.pod, container, volumes, {}, false));
            ++bound;
            co_return {};
        }(busy, *this, container, bound));
    loop.advance(1s);
    EXPECT_EQ(workers.held.size(), 9u) << "eight, and that of a volume of this machine";
    workers.release();
    loop.advance(1s);
    EXPECT_EQ(bound, 9);
    EXPECT_EQ(workers.held.size(), 4u);
    workers.release();
    loop.advance(1s);
    EXPECT_EQ(bound, 13);
}

TEST_F(VolumesTest, ASubPathThatCannotBeMadeIsNamed) {
    mounter.refusal = "Read-only file system";
    const auto result = mounts(
        R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/m","subPath":"a"}]}]})");
    EXPECT_EQ(result.error().message, "failed to create subPath directory for volumeMount \"v\" of container \"c\": Read-only file system");
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

TEST_F(VolumesTest, WindowsWithoutSymbolicLinksSaysThatFilesOfTheAPIDoNotWork) {  // STO-28, LIM-51
    (void)mounts(R"({"volumes":[{"name":"c","configMap":{"name":"settings"}}]})");
    host.windows = true;
    host.object_volumes_refusal = windows::object_volumes_refusal("10.0.16299");
    VolumeManager on_windows = manager_on(host, {}, "/w");
    EXPECT_EQ(porthole::sim::run(loop, on_windows.set_up(pod, allocatable)).error().message,
              "MountVolume.SetUp failed for volume \"c\" : configMap, secret, downwardAPI and projected volumes do not work on Windows "
              "build 16299, whose containers do not follow symbolic links: they need build 17134 (version 1803)");
    host.object_volumes_refusal = windows::object_volumes_refusal("10.0.17134");
    EXPECT_TRUE(porthole::sim::run(loop, on_windows.set_up(pod, allocatable)));
}

// SEC-01, LIM-42
TEST_F(VolumesTest, SEC01_OnWindowsWhatIsConfidentialIsClosedToAllButAdministratorsAndTheContainersAccount) {
    (void)mounts(R"({"volumes":[{"name":"s","secret":{"secretName":"hidden","defaultMode":256}},
        {"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}},{"name":"c","configMap":{"name":"settings"}}]})");
    host.windows = true;
    VolumeManager windows = manager_on(host, {}, "/w");
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
    EXPECT_TRUE(windows.admit(pod->spec.containers[0], volumes, "nobody-of-this-machine")) << "the runtime tells it, at the start";
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
        VolumeHost windows_host = host;
        windows_host.windows = true;
        VolumeManager windows = manager_on(windows_host, {}, "/w");
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

TEST_F(VolumesTest, WithSelinuxTheRuntimeRelabelsWhatThePodAloneHas) {
    const struct {
        const char *name, *volume;
        bool relabelled;
    } rows[] = {
        {"emptyDir", R"("emptyDir":{})", true},
        {"secret", R"("secret":{"secretName":"hidden"})", true},
        {"hostPath", R"("hostPath":{"path":"/"})", false},
        {"image", R"("image":{"reference":"data:1"})", false},
        {"nfs", R"("nfs":{"server":"s","path":"/"})", false},
    };
    put_selinux(files, SelinuxMounts);
    SelinuxContexts contexts(Selinux::find(files), false);
    VolumeHost selinux_host = host;
    selinux_host.selinux = &contexts;
    VolumeManager with_selinux = manager_on(selinux_host, {.images = &images}, "/s");
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto plain = mounts(std::string(R"({"volumes":[{"name":"v",)") + row.volume + "}]}");
        ASSERT_TRUE(plain) << plain.error().message;
        EXPECT_FALSE(plain->at(0).selinux_relabel) << "without SELinux";
        const auto mounted = porthole::sim::run(loop, with_selinux.set_up(pod, {}));
        ASSERT_TRUE(mounted) << mounted.error().message;
        const auto made = porthole::sim::run(loop, with_selinux.mounts_for(*pod, pod->spec.containers[0], *mounted, {}, false));
        EXPECT_EQ(made->at(0).selinux_relabel, row.relabelled);
    }
}

}  // namespace
}  // namespace porthole::kubelet
