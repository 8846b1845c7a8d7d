#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/files/file_system.h"
#include "runtime/files/own_mounts_fixture.h"

#include "kubelet/volumes/framework/mounter.h"

namespace porthole::kubelet {
namespace {

namespace fs = std::filesystem;

/// A volume beside something that is not the pod's.
struct MounterTest : OwnMountsTest {
    MounterTest() {
        fs::create_directory(volume);
        fs::create_directory(outside);
        EXPECT_EQ(::chmod(volume.c_str(), 02775), 0);
        EXPECT_EQ(::chmod(outside.c_str(), 0700), 0);
    }

    static unsigned mode_of(const std::string& path) {
        struct stat status{};
        EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777;
    }

    std::unique_ptr<Mounter> mounter = make_mounter();
    const std::string volume = place("volume"), outside = place("outside");
};

TEST_F(MounterTest, MakesMissingDirectoriesWithTheModeOfTheVolume) {
    ASSERT_TRUE(mounter->make_beneath(volume, "a/b"));
    EXPECT_EQ(mode_of(volume + "/a"), 02775u);
    EXPECT_EQ(mode_of(volume + "/a/b"), 02775u);
    ASSERT_EQ(::chmod((volume + "/a").c_str(), 0755), 0);
    ASSERT_TRUE(mounter->make_beneath(volume, "a/c"));
    EXPECT_EQ(mode_of(volume + "/a"), 0755u) << "what was there stays as it is";
    fs::create_directory_symlink("a", volume + "/inside");
    ASSERT_TRUE(mounter->make_beneath(volume, "inside/d")) << "a link that stays in the volume";
    EXPECT_TRUE(fs::is_directory(volume + "/a/d"));
}

TEST_F(MounterTest, LinksDoNotLeadOutOfTheVolume) {
    fs::create_directory_symlink(outside, volume + "/absolute");
    fs::create_directory_symlink("../outside", volume + "/relative");
    for (const char* link : {"absolute", "relative"}) {
        const auto made = mounter->make_beneath(volume, std::string(link) + "/b");
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().reason, Reason::Forbidden) << made.error().message;
        (void)mounter->make_beneath(volume, link);
        EXPECT_EQ(mode_of(outside), 0700u) << link;
    }
    EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(MounterTest, MemoryHasItsSizeAndIsMountedOnce) {
    ASSERT_TRUE(mounter->mount_memory(volume, 8 << 20));
    struct statfs status{};
    ASSERT_EQ(::statfs(volume.c_str(), &status), 0);
    EXPECT_EQ(status.f_type, TMPFS_MAGIC);
    EXPECT_EQ(status.f_blocks * static_cast<std::uint64_t>(status.f_bsize), 8u << 20);
    EXPECT_EQ(mode_of(volume), 01777u);
    ASSERT_TRUE(mounter->mount_memory(volume, 8 << 20));
    EXPECT_EQ(mounter->mounts_below(volume)->size(), 1u);
    ASSERT_TRUE(mounter->unmount(volume));
    EXPECT_TRUE(mounter->mounts_below(volume)->empty());
}

TEST_F(MounterTest, HugePagesAreMountedWhereTheKernelHasThem) {
    if (!fs::exists("/sys/kernel/mm/hugepages/hugepages-2048kB")) GTEST_SKIP() << "the kernel has no pages of 2 MiB";
    ASSERT_TRUE(mounter->mount_huge_pages(volume, 2 << 20));
    struct statfs status{};
    ASSERT_EQ(::statfs(volume.c_str(), &status), 0);
    EXPECT_EQ(status.f_type, HUGETLBFS_MAGIC);
    EXPECT_EQ(status.f_bsize, 2 << 20);
    EXPECT_FALSE(mounter->mount_huge_pages(outside, 3 << 20)) << "no such pages";
    ASSERT_TRUE(mounter->unmount(volume));
}

/// As after a kubelet that was killed while it set a pod up: memory, a sub-path of it, and a bind mount of what is not the pod's.
TEST_F(MounterTest, WhatWasHalfMountedIsUnmountedAndNothingElseIsDeleted) {
    const auto files = make_file_system();
    const std::string memory = volume + "/memory", below = volume + "/subpaths/0", kept = outside + "/kept";
    ASSERT_TRUE(files->create_directories(memory, 0755));
    ASSERT_TRUE(files->write(kept, "x", 0644));
    ASSERT_TRUE(mounter->mount_memory(memory, 1 << 20));
    ASSERT_TRUE(files->write(memory + "/f", "x", 0644));
    ASSERT_TRUE(mounter->bind_beneath(memory, "f", below));
    ASSERT_TRUE(files->create_directories(memory + "/host", 0755));
    ASSERT_EQ(::mount(outside.c_str(), (memory + "/host").c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_FALSE(files->remove_all(volume)) << "before it is unmounted";
    EXPECT_TRUE(files->exists(kept));
    const auto mounts = mounter->mounts_below(volume);
    ASSERT_TRUE(mounts);
    EXPECT_EQ(mounts->size(), 3u);
    for (const std::string& mount : *mounts) ASSERT_TRUE(mounter->unmount(mount)) << mount;
    ASSERT_TRUE(files->remove_all(volume));
    EXPECT_TRUE(files->exists(kept));
}

}  // namespace
}  // namespace porthole::kubelet
