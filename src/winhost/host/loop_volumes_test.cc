#include "winhost/host/loop_volumes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "runtime/asio_loop.h"
#include "runtime/files/mounts.h"
#include "runtime/run_task.h"
#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;
using csi_proxy::DiskNumber;
constexpr std::uint64_t Mebibyte = 1 << 20;

/// The machine's programs, or none.
struct WatchedPrograms final : ProcessRunner {
    explicit WatchedPrograms(WorkerPool& pool) : real(make_process_runner(pool)) {}
    Task<CommandOutput> run(Command command) override {
        calls.push_back(join(command.arguments, " "));
        if (is_missing) return missing();
        return real->run(std::move(command));
    }
    static Task<CommandOutput> missing() { co_return Error(Reason::NotFound, "no such program"); }
    std::unique_ptr<ProcessRunner> real;
    std::vector<std::string> calls;
    bool is_missing = false;
};

/// A host's drive with image files next to it, on real loop devices.
struct LoopVolumesTest : testing::Test {
    void SetUp() override {
        if (::geteuid() != 0 || ::access("/dev/loop-control", R_OK | W_OK) != 0) GTEST_SKIP() << "needs root and loop devices";
        for (const char* name : {"staged", "other", "pods"}) fs::create_directories(kubelet() / name);
        fs::create_directories(folder / "disks");
        put("vol-1", 32);
    }
    void TearDown() override {
        EXPECT_TRUE(unmount_below(folder.path()));
        for (int i = 0; i < 500 && is_attached(); ++i) ::usleep(10'000);  // the kernel frees a device a moment later
        EXPECT_FALSE(is_attached());
    }
    void put(const std::string& name, std::uint64_t mebibytes) const {
        std::ofstream(folder / ("disks/" + name), std::ios::app) << "";
        fs::resize_file(folder / ("disks/" + name), mebibytes * Mebibyte);
    }
    bool is_attached() const {
        for (const auto& device : fs::directory_iterator("/sys/block")) {
            std::string image;
            std::getline(std::ifstream(device.path() / "loop/backing_file"), image);
            if (image.starts_with(folder.path())) return true;
        }
        return false;
    }
    fs::path drive() const { return folder / "root/wine/drive_c"; }
    fs::path kubelet() const { return drive() / "var/lib/kubelet"; }
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }
    /// Of the first disk, partitioned and formatted.
    std::string formatted_volume() {
        EXPECT_TRUE(run(volumes->partition(1)));
        const std::string volume = run(volumes->list(1, 0)).value().at(0);
        const auto done = run(volumes->format(volume));
        EXPECT_TRUE(done) << done.error().message;
        return volume;
    }
    std::uint64_t total(const std::string& volume) { return static_cast<std::uint64_t>(run(volumes->stats(volume)).value().total); }
    std::unique_ptr<LoopVolumes> make_volumes() {
        return std::make_unique<LoopVolumes>(LoopVolumes::Services{
            *pool, programs, random, folder / "disks", {*files, *links, folder / "root", folder / "own", ContainerUsers()}});
    }

    TestFolder folder;
    AsioLoop loop;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(2);
    WatchedPrograms programs{*pool};
    std::unique_ptr<FileSystem> files = make_file_system();
    SeededRandom random{1};
    std::unique_ptr<CsiFiles> links = make_csi_files(folder / "root");
    std::unique_ptr<LoopVolumes> volumes = make_volumes();
    const std::string staged = "C:\\var\\lib\\kubelet\\staged", other = "C:\\var\\lib\\kubelet\\other";
};

// STO-24, EMU-10
TEST_F(LoopVolumesTest, ADiskIsPartitionedFormattedMountedAndKeepsItsFiles) {
    const auto disks = run(volumes->list());
    ASSERT_EQ(disks.value().size(), 1U);
    EXPECT_EQ(disks->at(0).serial_number, "vol-1");
    EXPECT_EQ(disks->at(0).location, "Integrated : Adapter 0 : Port 0 : Target 0 : LUN 1");
    EXPECT_EQ(run(volumes->size(1)).value(), 32 * Mebibyte);
    EXPECT_TRUE(run(volumes->list(1, 0)).value().empty()) << "not partitioned";
    const std::string volume = formatted_volume();
    EXPECT_EQ(run(volumes->disk_of(volume)).value(), 1U);
    EXPECT_TRUE(run(volumes->is_formatted(volume)).value());
    const auto mounted = run(volumes->mount(volume, staged));
    ASSERT_TRUE(mounted) << mounted.error().message;
    EXPECT_TRUE(fs::is_symlink(kubelet() / "staged"));
    EXPECT_TRUE(fs::is_empty(kubelet() / "staged"));
    std::ofstream(kubelet() / "staged/file") << "kept";
    EXPECT_EQ(run(volumes->use_of(volume)).value().paths, std::vector<std::string>{staged});
    EXPECT_EQ(run(volumes->use_of(DiskNumber{1})).value().paths, std::vector<std::string>{staged});
    EXPECT_GT(run(volumes->stats(volume)).value().total, 20 * static_cast<std::int64_t>(Mebibyte));
    ASSERT_TRUE(links->create_link(staged, "C:\\var\\lib\\kubelet\\pods\\mount"));
    EXPECT_EQ(run(volumes->volume_at("C:\\var\\lib\\kubelet\\pods\\mount")).value(), volume) << "by a link to it";
    EXPECT_FALSE(run(volumes->volume_at(other)));
    EXPECT_TRUE(run(volumes->flush(volume)));
    EXPECT_TRUE(run(volumes->unmount(volume, staged)));
    EXPECT_FALSE(fs::is_symlink(kubelet() / "staged"));
    EXPECT_TRUE(fs::is_directory(kubelet() / "staged"));
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
    EXPECT_EQ(run(volumes->unmount(volume, staged)).error().reason, Reason::NotFound);
    ASSERT_TRUE(run(volumes->mount(volume, other)));
    EXPECT_TRUE(fs::exists(kubelet() / "other/file"));
}

// STO-24
TEST_F(LoopVolumesTest, AVolumeGrowsWithItsDisk) {
    const std::string volume = formatted_volume();
    put("vol-1", 64);
    EXPECT_EQ(run(volumes->size(1)).value(), 64 * Mebibyte);
    const auto grown = run(volumes->resize(volume, 0));
    ASSERT_TRUE(grown) << grown.error().message;
    ASSERT_TRUE(run(volumes->resize(volume, 0))) << "repeated";
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    std::ofstream(kubelet() / "staged/file") << "kept";
    EXPECT_GT(total(volume), 54 * Mebibyte);
    ASSERT_TRUE(run(volumes->resize(volume, 0))) << "nothing is left to do";
    put("vol-1", 96);
    const auto mounted = run(volumes->resize(volume, 80 * Mebibyte));
    if (!mounted) {  // without CAP_SYS_RESOURCE
        EXPECT_EQ(mounted.error().reason, Reason::Conflict) << mounted.error().message;
        ASSERT_TRUE(run(volumes->unmount(volume, staged)));
        ASSERT_TRUE(run(volumes->mount(volume, staged)));
        ASSERT_TRUE(run(volumes->resize(volume, 80 * Mebibyte)));
    }
    EXPECT_GT(total(volume), 70 * Mebibyte);
    EXPECT_TRUE(fs::exists(kubelet() / "staged/file"));
}

TEST_F(LoopVolumesTest, WhatIsMountedIsNeitherFormattedNorSetOffline) {
    const std::string volume = formatted_volume();
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    EXPECT_EQ(run(volumes->format(volume)).error().reason, Reason::Conflict);
    EXPECT_EQ(run(volumes->set_online(1, false)).error().reason, Reason::Conflict);
    EXPECT_EQ(programs.calls.size(), 1U);
    ASSERT_TRUE(run(volumes->unmount(volume, staged)));
    ASSERT_TRUE(run(volumes->set_online(1, false)));
    EXPECT_FALSE(run(volumes->is_online(1)).value());
    EXPECT_EQ(run(volumes->mount(volume, staged)).error().message, "disk 1 is offline");
    ASSERT_TRUE(run(volumes->set_online(1, true)));
    EXPECT_TRUE(run(volumes->mount(volume, staged)));
}

TEST_F(LoopVolumesTest, ALinkThatIsGoneIsNoMount) {
    const std::string volume = formatted_volume();
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    ASSERT_TRUE(run(volumes->mount(volume, staged))) << "repeated";
    ASSERT_TRUE(run(volumes->mount(volume, other))) << "a second place";
    fs::remove(kubelet() / "staged");
    EXPECT_EQ(run(volumes->use_of(volume)).value().paths, std::vector<std::string>{other});
    fs::remove(kubelet() / "other");
    EXPECT_TRUE(run(volumes->use_of(volume)).value().paths.empty());
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
    EXPECT_TRUE(run(volumes->format(volume)));
}

TEST_F(LoopVolumesTest, TheNextEmulationKnowsWhatIsMounted) {
    const std::string volume = formatted_volume();
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    volumes = make_volumes();
    EXPECT_EQ(run(volumes->use_of(volume)).value().paths, std::vector<std::string>{staged});
    fs::remove(folder / "disks/vol-1");
    EXPECT_FALSE(run(volumes->disk_of(volume)));
    EXPECT_TRUE(run(volumes->unmount(volume, staged))) << "also of a disk that is gone";
}

TEST_F(LoopVolumesTest, AfterTheHostHasEndedADriverMountsItAgainWhereItsLinkIs) {
    const std::string volume = formatted_volume();
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    std::ofstream(kubelet() / "staged/file") << "kept";
    ASSERT_TRUE(unmount_below(folder / "root"));
    EXPECT_TRUE(run(volumes->use_of(volume)).value().paths.empty());
    EXPECT_FALSE(fs::exists(kubelet() / "staged/file"));
    ASSERT_TRUE(run(volumes->mount(volume, staged)));
    EXPECT_TRUE(fs::exists(kubelet() / "staged/file"));
}

TEST_F(LoopVolumesTest, RefusalsSayWhy) {
    std::ofstream(kubelet() / "other/file") << "a driver's";
    ASSERT_TRUE(run(volumes->partition(1)));
    const std::string volume = run(volumes->list(1, 0)).value().at(0);
    EXPECT_FALSE(run(volumes->is_formatted(volume)).value());
    EXPECT_FALSE(run(volumes->mount(volume, staged))) << "it has no file system";
    programs.is_missing = true;
    EXPECT_EQ(run(volumes->format(volume)).error().message,
              "this host cannot do that: the machine that emulates it has no mkfs.ext4 (package e2fsprogs)");
    programs.is_missing = false;
    ASSERT_TRUE(run(volumes->format(volume)));
    EXPECT_EQ(run(volumes->mount(volume, other)).error().reason, Reason::AlreadyExists) << "the directory is not empty";
    EXPECT_TRUE(fs::exists(kubelet() / "other/file"));
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
    EXPECT_EQ(run(volumes->size(7)).error().message, "this host has no disk 7");
}

// What containers leave on the drive must not lead a mount elsewhere.
TEST_F(LoopVolumesTest, ALinkThatAPodLeftLeadsNoVolumeElsewhere) {
    const std::string volume = formatted_volume();
    fs::create_directories(folder / "machine");
    fs::create_directories(drive() / "ProgramData");
    fs::create_directory_symlink(folder / "machine", drive() / "ProgramData/Porthole Volumes");
    EXPECT_FALSE(run(volumes->mount(volume, staged)));
    fs::create_directory_symlink(folder / "machine", kubelet() / "pods/out");
    fs::remove(drive() / "ProgramData/Porthole Volumes");
    EXPECT_FALSE(run(volumes->mount(volume, "C:\\var\\lib\\kubelet\\pods\\out\\new")));
    EXPECT_TRUE(fs::is_empty(folder / "machine"));
    EXPECT_TRUE(mounts_below(folder.path()).value().empty());
}

}  // namespace
}  // namespace porthole::winhost
