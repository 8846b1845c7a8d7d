#include "kubelet/volumes/nfs/nfs.h"

#include "kubelet/volumes/volumes_fixture.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

struct NfsTest : VolumesTest {
    static constexpr const char* Share = "/k/pods/u/volumes/kubernetes.io~nfs/v";
    static std::string pod_with(const std::string& more) {
        return R"({"volumes":[{"name":"v","nfs":{"server":"files.example.com","path":"/exports/a")" + more + "}}]}";
    }
    Result<std::vector<cri::Mount>> of_claim(const std::string& options, bool read_only = false) {
        core::PersistentVolume volume;
        volume.spec.nfs.emplace().server = "files.example.com";
        volume.spec.nfs->path = "/exports/a";
        volume.spec.nfs->read_only = read_only;
        if (!options.empty()) volume.spec.mount_options = {options};
        put_claim_of(volume);
        return mounts(R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]})");
    }
};

TEST_F(NfsTest, AShareIsMountedOnceAndUnmountedWithItsPod) {
    const auto given = mounts(pod_with(""));
    ASSERT_TRUE(given);
    EXPECT_EQ(given->at(0).host_path, Share);
    EXPECT_FALSE(given->at(0).readonly);
    EXPECT_EQ(mounter.mounts.at(Share), "files.example.com:/exports/a");
    ASSERT_TRUE(mounts(pod_with("")));
    EXPECT_EQ(programs.calls, (std::vector<std::vector<std::string>>{{"mount", "-t", "nfs", "--", "files.example.com:/exports/a", Share}}));
    ASSERT_TRUE(porthole::sim::run(loop, manager.tear_down("u")));
    EXPECT_TRUE(mounter.mounts.empty());
}

TEST_F(NfsTest, AReadOnlyShareIsMountedSoAndGivenSo) {
    const auto given = mounts(pod_with(R"(,"readOnly":true)"));
    ASSERT_TRUE(given);
    EXPECT_TRUE(given->at(0).readonly);
    EXPECT_EQ(programs.calls[0], (std::vector<std::string>{"mount", "-t", "nfs", "-o", "ro", "--", "files.example.com:/exports/a", Share}));
}

TEST_F(NfsTest, AClaimsVolumeBringsItsOptions) {
    const auto given = of_claim("nfsvers=4.1", true);
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_TRUE(given->at(0).readonly);
    EXPECT_EQ(programs.calls[0][4], "nfsvers=4.1,ro");
}

TEST_F(NfsTest, AFailureIsToldInTheProgramsWordsAndLeavesNothingMounted) {
    programs.result = {.exit_code = 32, .errors = "mount.nfs: Connection refused"};
    programs.fails_after_mounting = true;
    EXPECT_EQ(mounts(pod_with("")).error().message,
              std::string(
                  "MountVolume.SetUp failed for volume \"v\" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: "
                  "-t nfs -- files.example.com:/exports/a ") +
                  Share + "\nOutput: mount.nfs: Connection refused");
    EXPECT_TRUE(mounter.mounts.empty());
    programs.result = {};
    EXPECT_TRUE(mounts(pod_with(""))) << "tried again";
}

TEST_F(NfsTest, AWorkerWaitsForAServerThatIsAwayAfterAFailure) {
    BusyWorkers workers(loop);
    const VolumeHost slow_host = host_with(workers, programs);
    core::NFSVolumeSource source{.server = "files.example.com", .path = "/exports/a"};
    programs.result = {.exit_code = 32};
    programs.fails_after_mounting = true;
    Scope scope(loop);
    scope.spawn([](core::NFSVolumeSource source, const VolumeHost& host) -> Task<> {
        CO_TRY_VOID(co_await set_up_nfs(std::move(source), {}, Share, host));
        co_return {};
    }(source, slow_host));
    ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(1s)));
    EXPECT_TRUE(mounter.mounts.contains(Share));
    workers.release();
    ASSERT_TRUE(porthole::sim::run(loop, loop.sleep(1s)));
    EXPECT_TRUE(mounter.mounts.empty());
}

}  // namespace
}  // namespace porthole::kubelet
