#include "hns/emulator/data_plane/linux/network_namespace.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "runtime/files/mounts.h"
#include "runtime/processes/user_namespace.h"

namespace porthole::hns::emulator {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t Root = 1'900'544'000;

struct NetworkNamespaceTest : testing::Test {
    NetworkNamespaceTest() {
        char name[] = "/tmp/porthole-net-XXXXXX";
        folder = fs::canonical(::mkdtemp(name)).string();
        private_ = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }
    void SetUp() override {
        if (!private_) GTEST_SKIP() << "needs root";
    }
    ~NetworkNamespaceTest() override {
        if (private_) EXPECT_TRUE(unmount_below(folder));
        fs::remove_all(folder);
    }

    /// Who rules the network at `path`, as the machine's user; 0 where it is root.
    static std::uint32_t ruler(const std::string& path) {
        const auto users = UserNamespace::owner_of(path);
        EXPECT_TRUE(users);
        return users && *users ? (*users)->root().value_or(1) : 0;
    }

    std::string folder;
    bool private_ = false;
};

TEST_F(NetworkNamespaceTest, OfAPodBelongsToTheOwnerOfItsHostsNetwork) {
    const auto users = UserNamespace::create({{0, Root, UserNamespace::Ids}});
    ASSERT_TRUE(users) << users.error().message;
    const std::string host = folder + "/host", pod = folder + "/pod";
    std::ofstream(host).flush();
    ASSERT_TRUE(users->make_network_namespace(host));
    ASSERT_TRUE(in_network_namespace(host, [&] { EXPECT_TRUE(ensure_network_namespace(pod)); }));
    EXPECT_EQ(ruler(pod), Root);
    EXPECT_TRUE(in_network_namespace(pod, [] {})) << "root of the machine works in it as before";
    EXPECT_TRUE(remove_network_namespace(pod));
}

TEST_F(NetworkNamespaceTest, OfAPodBelongsToTheMachineWhereItsHostsDoes) {
    ASSERT_TRUE(ensure_network_namespace(folder + "/pod"));
    EXPECT_EQ(ruler(folder + "/pod"), 0U);
    EXPECT_TRUE(remove_network_namespace(folder + "/pod"));
}

}  // namespace
}  // namespace porthole::hns::emulator
