#include "runtime/processes/user_namespace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/files/own_mounts_fixture.h"
#include "runtime/processes/owner_map.h"

namespace porthole {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t Root = 1'900'544'000;

struct UserNamespaceTest : OwnMountsTest {
    void SetUp() override {
        OwnMountsTest::SetUp();
        if (!UserNamespace::create({{0, Root, UserNamespace::Ids}})) GTEST_SKIP() << "needs the right to make a user namespace";
    }

    /// Of a network namespace that belongs to `users`.
    std::string network_of(const UserNamespace& users) const {
        std::ofstream(place("net")).flush();
        EXPECT_TRUE(users.make_network_namespace(place("net")));
        return place("net");
    }
};

/// What `work` returns in a process that is root of `users`.
template <typename Work>
int as_root_of(const UserNamespace& users, Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool inside = ::setns(users.descriptor(), CLONE_NEWUSER) == 0 && ::setresgid(0, 0, 0) == 0 && ::setresuid(0, 0, 0) == 0;
        ::_exit(inside ? work() : 99);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST_F(UserNamespaceTest, KnowsWhoItsRootIsOnTheMachine) {
    const auto users = UserNamespace::create({{0, Root, UserNamespace::Ids}});
    ASSERT_TRUE(users) << users.error().message;
    const auto root = users->root();
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(*root, Root);
    EXPECT_TRUE(fs::exists(users->path()));
}

TEST_F(UserNamespaceTest, IsFoundByANetworkThatBelongsToIt) {
    const auto users = UserNamespace::create({{0, Root, UserNamespace::Ids}});
    ASSERT_TRUE(users) << users.error().message;
    const auto found = UserNamespace::owner_of(network_of(*users));
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_TRUE(*found);
    const auto root = (*found)->root();
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(*root, Root);
}

TEST_F(UserNamespaceTest, OwnsNoNetworkOfTheMachine) {
    const auto found = UserNamespace::owner_of("/proc/self/ns/net");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_FALSE(*found);
    EXPECT_FALSE(UserNamespace::owner_of(place("absent")));
}

TEST_F(UserNamespaceTest, SeesTheMachinesFilesAsItsOwnWhereTheyAreMountedForIt) {
    fs::create_directories(place("disk/inside"));
    std::ofstream(place("disk/file")) << "text";
    fs::create_directories(place("shown"));
    const auto users = UserNamespace::create({{0, Root, UserNamespace::Ids}});
    const auto owners = OwnerMap::create(Root);
    ASSERT_TRUE(owners) << owners.error().message;
    const auto mounted = owners->mount(place("disk"), place("shown"));
    if (!mounted) GTEST_SKIP() << mounted.error().message;
    EXPECT_EQ(owner(place("shown/file")), Root);
    EXPECT_EQ(owner(place("disk/file")), 0U);
    fs::permissions(folder, fs::perms::all);
    const std::string fresh = place("shown/fresh"), denied = place("disk/denied");
    EXPECT_EQ(as_root_of(*users, [&] { return ::open(fresh.c_str(), O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0; }), 0);
    EXPECT_EQ(owner(place("disk/fresh")), 0U) << "the disk tells nothing of user namespaces";
    EXPECT_EQ(as_root_of(*users, [&] { return ::open(denied.c_str(), O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0; }), EACCES)
        << "it is root nowhere else";
}

TEST_F(UserNamespaceTest, GetsNothingThatRootMakesInItsFiles) {
    fs::create_directories(place("disk"));
    fs::create_directories(place("shown"));
    const auto users = UserNamespace::create({{0, Root, UserNamespace::Ids}});
    const auto owners = OwnerMap::create(Root);
    ASSERT_TRUE(owners) << owners.error().message;
    const auto mounted = owners->mount(place("disk"), place("shown"));
    if (!mounted) GTEST_SKIP() << mounted.error().message;
    fs::permissions(folder, fs::perms::all);
    const std::string secret = place("shown/secret");
    std::ofstream(secret) << "root's";
    fs::permissions(secret, fs::perms::owner_read);
    EXPECT_EQ(owner(secret), 0U);
    EXPECT_EQ(as_root_of(*users, [&] { return ::open(secret.c_str(), O_RDONLY) < 0 ? errno : 0; }), EACCES);
}

}  // namespace
}  // namespace porthole
