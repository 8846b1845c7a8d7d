#include "hns/emulator/data_plane/linux/network_namespace.h"

#include <fstream>
#include <optional>

#include "runtime/files/own_mounts_fixture.h"
#include "runtime/processes/user_namespace.h"

namespace porthole::hns::emulator {
namespace {

constexpr std::uint32_t Root = 1'900'544'000;

struct NetworkNamespaceTest : OwnMountsTest {
    /// Who rules the network at `path`, as the machine's user; 0 where it is root.
    static std::uint32_t ruler(const std::string& path) {
        const auto users = UserNamespace::owner_of(path);
        EXPECT_TRUE(users);
        return users && *users ? (*users)->root().value_or(1) : 0;
    }
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
