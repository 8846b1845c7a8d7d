#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "kubelet/volumes/local_volume/image_disks.h"
#include "runtime/asio_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/files/mounts.h"
#include "runtime/run_task.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t Mebibyte = 1 << 20;

/// A real image on a real loop device: needs root and a kernel that has them.
struct ImageDisksTest : testing::Test {
    void SetUp() override {
        if (::geteuid() != 0 || ::access("/dev/loop-control", R_OK | W_OK) != 0) GTEST_SKIP() << "needs root and loop devices";
        char name[] = "/tmp/porthole-disks-XXXXXX";
        root = ::mkdtemp(name);
        for (const char* directory : {"/a", "/b"}) fs::create_directory(root + directory);
        image = root + "/image";
    }
    void TearDown() override {
        if (root.empty()) return;
        EXPECT_TRUE(unmount_below(root));
        fs::remove_all(root);
    }
    /// How many bytes can be written to a file there until the volume is full.
    static std::uint64_t fill(const std::string& file) {
        std::ofstream out(file, std::ios::binary);
        const std::string block(Mebibyte, 'x');
        while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
        }
        out.close();
        return fs::file_size(file);
    }

    AsioLoop loop;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(1);
    std::unique_ptr<ProcessRunner> processes = make_process_runner(*pool);
    std::unique_ptr<ImageDisks> disks = make_image_disks(*processes);
    std::string root, image;
};

TEST_F(ImageDisksTest, AVolumeIsFullAtItsSizeAndGrows) {
    ASSERT_TRUE(run_task(loop, disks->make(image, 32 * Mebibyte)));
    EXPECT_FALSE(disks->in_use(image).value());
    ASSERT_TRUE(disks->mount(image, root + "/a"));
    EXPECT_TRUE(disks->in_use(image).value());
    EXPECT_TRUE(fs::is_empty(root + "/a")) << "no lost+found";
    EXPECT_EQ(fs::status(root + "/a").permissions(), fs::perms::all);
    const std::uint64_t before = fill(root + "/a/file");
    EXPECT_LT(before, 32 * Mebibyte);
    EXPECT_GT(before, 16 * Mebibyte);
    if (disks->grows_mounted()) {
        ASSERT_TRUE(disks->grow(image, root + "/a", 64 * Mebibyte));
        ASSERT_TRUE(disks->grow(image, root + "/a", 64 * Mebibyte)) << "repeated";
    } else {
        ASSERT_TRUE(unmount_below(root + "/a"));
        ASSERT_TRUE(run_task(loop, disks->grow_unmounted(image, 64 * Mebibyte)));
        ASSERT_TRUE(run_task(loop, disks->grow_unmounted(image, 64 * Mebibyte))) << "repeated";
        ASSERT_TRUE(disks->mount(image, root + "/a"));
    }
    EXPECT_GT(fill(root + "/a/more"), 16 * Mebibyte);
    EXPECT_EQ(fs::file_size(root + "/a/file"), before) << "what was there stays";
}

// STO-19: what the kernel says shows that it was asked the right thing.
TEST_F(ImageDisksTest, OnlyTheCapabilityKeepsAMountedVolumeFromGrowing) {
    ASSERT_TRUE(run_task(loop, disks->make(image, 16 * Mebibyte)));
    ASSERT_TRUE(disks->mount(image, root + "/a"));
    std::ofstream(root + "/a/file") << "kept";
    const auto grown = disks->grow(image, root + "/a", 48 * Mebibyte);
    if (!disks->grows_mounted()) {
        EXPECT_EQ(grown.error().message, "enlarging the file system at " + root + "/a: Operation not permitted");
        ASSERT_TRUE(unmount_below(root + "/a"));
        ASSERT_TRUE(run_task(loop, disks->grow_unmounted(image, 48 * Mebibyte))) << "the image is as large already";
        ASSERT_TRUE(disks->mount(image, root + "/a"));
    } else {
        EXPECT_TRUE(grown) << grown.error().message;
    }
    EXPECT_GT(fill(root + "/a/more"), 30 * Mebibyte);
    EXPECT_TRUE(fs::exists(root + "/a/file"));
}

TEST_F(ImageDisksTest, TwoPodsSeeOneFileSystemAndTheDeviceEndsWithTheLast) {
    ASSERT_TRUE(run_task(loop, disks->make(image, 16 * Mebibyte)));
    ASSERT_TRUE(disks->mount(image, root + "/a"));
    ASSERT_TRUE(disks->mount(image, root + "/a")) << "repeated";
    ASSERT_TRUE(disks->mount(image, root + "/b"));
    std::ofstream(root + "/a/file") << "kept";
    EXPECT_TRUE(fs::exists(root + "/b/file"));
    ASSERT_TRUE(unmount_below(root + "/a"));
    EXPECT_FALSE(fs::exists(root + "/a/file")) << "mounted once only";
    EXPECT_TRUE(disks->in_use(image).value());
    ASSERT_TRUE(unmount_below(root + "/b"));
    for (int i = 0; i < 500 && disks->in_use(image).value(); ++i) ::usleep(10'000);  // the kernel frees the device a moment later
    EXPECT_FALSE(disks->in_use(image).value());
    ASSERT_TRUE(disks->mount(image, root + "/b"));
    EXPECT_TRUE(fs::exists(root + "/b/file")) << "data outlive the device";
}

TEST_F(ImageDisksTest, TheNextAgentUsesTheDeviceOfTheOneBefore) {
    ASSERT_TRUE(run_task(loop, disks->make(image, 16 * Mebibyte)));
    ASSERT_TRUE(disks->mount(image, root + "/a"));
    const auto next = make_image_disks(*processes);
    EXPECT_TRUE(next->in_use(image).value());
    ASSERT_TRUE(next->mount(image, root + "/b"));
    std::ofstream(root + "/a/file") << "kept";
    EXPECT_TRUE(fs::exists(root + "/b/file")) << "one file system on two devices would be destroyed";
}

TEST_F(ImageDisksTest, WhatAKilledAgentLeftIsMadeAgain) {
    ASSERT_TRUE(run_task(loop, disks->make(image, 16 * Mebibyte)));
    fs::rename(image, image + ".new");
    fs::create_directory(image + ".new.mounted");
    ASSERT_TRUE(disks->mount(image + ".new", image + ".new.mounted"));
    ASSERT_TRUE(run_task(loop, disks->make(image, 32 * Mebibyte)));
    ASSERT_TRUE(disks->mount(image, root + "/a"));
    EXPECT_TRUE(fs::is_empty(root + "/a"));
    EXPECT_GT(fill(root + "/a/file"), 16 * Mebibyte);
}

TEST_F(ImageDisksTest, WhatAKilledAgentLeftHoldsNoDeviceWhenItsVolumeGoes) {
    ASSERT_TRUE(run_task(loop, disks->make(image, 16 * Mebibyte)));
    fs::rename(image, image + ".new");
    fs::create_directory(image + ".new.mounted");
    ASSERT_TRUE(disks->mount(image + ".new", image + ".new.mounted"));
    const auto next = make_image_disks(*processes);
    ASSERT_TRUE(next->end_unfinished(image));
    ASSERT_TRUE(next->end_unfinished(image)) << "repeated";
    EXPECT_TRUE(mounts_below(root).value().empty());
    for (int i = 0; i < 500 && next->in_use(image + ".new").value(); ++i) ::usleep(10'000);  // the kernel frees the device a moment later
    EXPECT_FALSE(next->in_use(image + ".new").value());
}

}  // namespace
}  // namespace porthole::kubelet
