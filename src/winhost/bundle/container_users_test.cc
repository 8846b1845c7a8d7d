#include "winhost/bundle/container_users.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/files/own_mounts_fixture.h"
#include "winhost/bundle/held_tree.h"
#include "winhost/bundle/overlay.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t Root = 1'900'544'000;

struct ContainerUsersTest : OwnMountsTest {
    ContainerUsersTest() {
        for (const char* part : {"lower/dir", "own/upper", "own/work", "rootfs"}) fs::create_directories(place(part));
        std::ofstream(place("lower/dir/file")) << "of the image";
    }
    void SetUp() override {
        OwnMountsTest::SetUp();
        if (IsSkipped()) return;
        const auto usable = try_user_namespace(folder, place("lower"));
        if (!usable) GTEST_SKIP() << usable.error().message;
    }

    /// As a host finds them that is started in a network of a user namespace.
    ContainerUsers users() const {
        const auto made = UserNamespace::create({{0, Root, UserNamespace::Ids}});
        EXPECT_TRUE(made && (std::ofstream(place("net")).flush(), made->make_network_namespace(place("net"))));
        Result<ContainerUsers> found = Error(Reason::Io, "not asked");
        const int network = ::open(place("net").c_str(), O_RDONLY | O_CLOEXEC);
        std::thread([&] {
            EXPECT_EQ(::setns(network, CLONE_NEWNET), 0);
            found = ContainerUsers::of_this_network();
        }).join();
        ::close(network);
        EXPECT_TRUE(found);
        return found.value_or(ContainerUsers());
    }
    Result<void> mount(const ContainerUsers& users) const {
        return mount_overlay({.lowers = {place("lower")}, .upper = place("own/upper"), .work = place("own/work")}, place("rootfs"),
                             users.owners());
    }
};

TEST_F(ContainerUsersTest, AreTheMachinesWhereTheHostsNetworkIs) {
    const auto found = ContainerUsers::of_this_network();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->root(), 0U);
    EXPECT_FALSE(found->user_namespace());
    EXPECT_EQ(found->owners(), nullptr);
}

TEST_F(ContainerUsersTest, AreThoseOfTheUserNamespaceToWhichTheHostsNetworkBelongs) {
    const ContainerUsers found = users();
    EXPECT_EQ(found.root(), Root);
    ASSERT_TRUE(found.user_namespace());
    EXPECT_EQ(found.user_namespace()->root, Root);
    EXPECT_TRUE(fs::exists(found.user_namespace()->path));
}

TEST_F(ContainerUsersTest, NeedAFileSystemThatShowsOtherOwners) {
    ASSERT_TRUE(mount(ContainerUsers()));  // an overlay is none
    const auto usable = try_user_namespace(place("rootfs"), place("lower"));
    ASSERT_FALSE(usable);
    EXPECT_NE(usable.error().message.find("with other owners"), std::string::npos) << usable.error().message;
    EXPECT_FALSE(fs::exists(place("rootfs/user-namespace-test"))) << "nothing is left of the attempt";
}

TEST_F(ContainerUsersTest, OwnTheirFilesWhoseDiskStaysAsItIs) {
    const ContainerUsers found = users();
    const auto mounted = mount(found);
    ASSERT_TRUE(mounted) << mounted.error().message;
    EXPECT_EQ(owner(place("rootfs/dir/file")), Root);
    EXPECT_EQ(owner(place("lower/dir/file")), 0U);
    fs::permissions(place("rootfs/dir/file"), fs::perms::owner_read);  // copied up
    EXPECT_EQ(owner(place("rootfs/dir/file")), Root);
    EXPECT_EQ(owner(place("own/upper/dir/file")), 0U);
    fs::remove(place("rootfs/dir/file"));
    EXPECT_FALSE(fs::exists(place("rootfs/dir/file"))) << "the overlay can store what hides it";
    const auto points = mount_points();
    EXPECT_EQ(mounts_in(*points, place("own")).size(), 0U) << "nothing but the file system is left mounted";
}

TEST_F(ContainerUsersTest, OwnWhatTheEmulationWritesForThem) {
    ASSERT_TRUE(mount(users()));
    const auto tree = HeldTree::open(place("rootfs"));
    ASSERT_TRUE(tree);
    ASSERT_TRUE(tree->create_directories("dir/volume", 0700));
    ASSERT_TRUE(tree->write("dir/volume/token", "secret", 0600));
    ASSERT_TRUE(tree->copy_in(place("lower/dir/file"), "dir/volume/copy", ""));
    for (const char* made : {"rootfs/dir/volume", "rootfs/dir/volume/token", "rootfs/dir/volume/copy"}) EXPECT_EQ(owner(place(made)), Root);
    EXPECT_EQ(owner(place("own/upper/dir/volume/token")), 0U);
}

TEST_F(ContainerUsersTest, AreGivenFilesOfTheirExchangeWithTheHost) {
    const ContainerUsers found = users();
    ASSERT_TRUE(found.give(place("own")));
    EXPECT_EQ(owner(place("own")), Root);
    ASSERT_TRUE(ContainerUsers().give(place("own"))) << "of a host that is started without a user namespace";
    EXPECT_EQ(owner(place("own")), 0U);
}

}  // namespace
}  // namespace porthole::winhost
