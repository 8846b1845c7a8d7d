#include "runtime/files/mounts.h"

#include <gmock/gmock.h>

#include "runtime/files/file_system.h"
#include "runtime/files/own_mounts_fixture.h"

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

using Mounted = OwnMountsTest;

TEST_F(Mounted, FoldersWithABlankInTheirNamesAreUnmounted) {
    const std::string cluster = place("my cluster"), inner = cluster + "/nodes";
    std::filesystem::create_directory(cluster);
    ASSERT_EQ(::mount("tmpfs", cluster.c_str(), "tmpfs", 0, nullptr), 0);
    std::filesystem::create_directory(inner);
    ASSERT_EQ(::mount("tmpfs", inner.c_str(), "tmpfs", 0, nullptr), 0);
    EXPECT_TRUE(unmount_below(cluster));
    EXPECT_FALSE(std::filesystem::exists(inner)) << "the inner folder was in the outer mount";
}

/// A bind mount of the same file system: the device number does not tell it.
TEST_F(Mounted, FoldersAreNotRemovedFrom) {
    const auto files = make_file_system();
    const std::filesystem::path kept = place("kept"), tree = place("tree"), point = tree / "a" / "point", link = place("link");
    std::filesystem::create_directories(point);
    std::filesystem::create_directory(kept);
    ASSERT_TRUE(files->write(kept / "data", "x", 0644));
    ASSERT_EQ(::mount(kept.c_str(), point.c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_THAT(files->remove_all(tree).error().message, testing::HasSubstr("something is mounted there"));
    EXPECT_FALSE(files->remove_all(point)) << "also when it is asked for by name";
    EXPECT_TRUE(files->exists(kept / "data"));
    ASSERT_TRUE(files->create_symlink(tree, link));
    EXPECT_THAT(mounts_below(link).value(), ElementsAre(point)) << "mounts are found through links";
    ASSERT_TRUE(unmount_below(link));
    EXPECT_TRUE(files->remove_all(tree));
    EXPECT_TRUE(files->exists(kept / "data"));
    EXPECT_TRUE(mounts_below(place("none")).value().empty());
}

}  // namespace
}  // namespace porthole
