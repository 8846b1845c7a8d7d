#include "runtime/files/mounts.h"
#include "runtime/files/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <filesystem>
#include <future>

namespace porthole {
namespace {

using testing::ElementsAre;

// As Linux prints them: id, parent, device, root, mount point, options, ...
constexpr const char* Mountinfo =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "90 22 0:40 / /srv/my\\040cluster rw,relatime shared:2 - tmpfs tmpfs rw\n"
    "91 90 0:41 / /srv/my\\040cluster/nodes/a\\134b rw,relatime shared:3 - overlay overlay rw\n"
    "92 22 0:42 / /srv/my\\040clusters rw,relatime shared:4 - tmpfs tmpfs rw\n";

TEST(Mounts, PointsHaveTheirBlanksAndBackslashes) {
    EXPECT_THAT(parse_mount_points(Mountinfo), ElementsAre("/", "/srv/my cluster", "/srv/my cluster/nodes/a\\b", "/srv/my clusters"));
}

TEST(Mounts, AreFoundInAFolderNewestFirst) {
    EXPECT_THAT(mounts_in(parse_mount_points(Mountinfo), "/srv/my cluster"), ElementsAre("/srv/my cluster/nodes/a\\b", "/srv/my cluster"));
}

TEST(Mounts, OfThisThreadIncludeTheRoot) {
    const auto points = mount_points();
    ASSERT_TRUE(points);
    EXPECT_THAT(*points, testing::Contains("/"));
}

TEST(Mounts, LinesThatAreTooShortAreNone) { EXPECT_THAT(parse_mount_points("22 1 8:1 /\n\n"), ElementsAre()); }

/// Runs `body` on a thread that has a mount namespace of its own. False where this user may not make one.
bool in_own_mount_namespace(const std::function<void()>& body) {
    return std::async(std::launch::async,
                      [&] {
                          if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
                          body();
                          return true;
                      })
        .get();
}

TEST(Mounts, InAFolderWithABlankInItsNameAreUnmounted) {
    char scratch[] = "/tmp/mounts_test_XXXXXX";
    ASSERT_TRUE(::mkdtemp(scratch));
    const std::filesystem::path folder = std::filesystem::path(scratch) / "my cluster", inner = folder / "nodes";
    const bool ran = in_own_mount_namespace([&] {
        std::filesystem::create_directory(folder);
        ASSERT_EQ(::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr), 0);
        std::filesystem::create_directory(inner);
        ASSERT_EQ(::mount("tmpfs", inner.c_str(), "tmpfs", 0, nullptr), 0);
        EXPECT_TRUE(unmount_below(folder));
        EXPECT_FALSE(std::filesystem::exists(inner)) << "the inner folder was in the outer mount";
    });
    std::filesystem::remove_all(scratch);
    if (!ran) GTEST_SKIP() << "needs the right to make a mount namespace";
}

/// A bind mount of the same file system: the device number does not tell it.
TEST(Mounts, AreNotRemovedFrom) {
    char scratch[] = "/tmp/mounts_test_XXXXXX";
    ASSERT_TRUE(::mkdtemp(scratch));
    const std::filesystem::path folder(scratch), kept = folder / "kept", tree = folder / "tree", point = tree / "a" / "point";
    const bool ran = in_own_mount_namespace([&] {
        const auto files = make_file_system();
        std::filesystem::create_directories(point);
        std::filesystem::create_directory(kept);
        ASSERT_TRUE(files->write(kept / "data", "x", 0644));
        ASSERT_EQ(::mount(kept.c_str(), point.c_str(), nullptr, MS_BIND, nullptr), 0);
        EXPECT_THAT(files->remove_all(tree).error().message, testing::HasSubstr("something is mounted there"));
        EXPECT_FALSE(files->remove_all(point)) << "also when it is asked for by name";
        EXPECT_TRUE(files->exists(kept / "data"));
        ASSERT_TRUE(files->create_symlink(tree, folder / "link"));
        EXPECT_THAT(mounts_below(folder / "link").value(), ElementsAre(point)) << "mounts are found through links";
        ASSERT_TRUE(unmount_below(folder / "link"));
        EXPECT_TRUE(files->remove_all(tree));
        EXPECT_TRUE(files->exists(kept / "data"));
        EXPECT_TRUE(mounts_below(folder / "none").value().empty());
    });
    std::filesystem::remove_all(scratch);
    if (!ran) GTEST_SKIP() << "needs the right to make a mount namespace";
}

}  // namespace
}  // namespace porthole
