#include "winhost/host/host_disk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// A host's disk into which a pod has written, and the machine around it.
struct HostDisk : testing::Test {
    HostDisk() {
        fs::create_directories(root() + "/wine/drive_c/ProgramData");
        fs::create_directories(machine());
        std::ofstream(machine() + "/file") << "the machine's";
    }
    std::string root() const { return folder.path() + "/root"; }
    std::string machine() const { return folder.path() + "/machine"; }
    std::string machines_file() const {
        std::ostringstream text;
        text << std::ifstream(machine() + "/file").rdbuf();
        return text.str();
    }

    TestFolder folder;
};

TEST_F(HostDisk, HoldsTheServicesOfTheHost) {
    ASSERT_TRUE(write_host_services(root(), "{}", "abc"));
    EXPECT_EQ(*read_host_services(root()), "{}");
    EXPECT_EQ(fs::status(root() + "/wine/drive_c/ProgramData/Porthole/token").permissions(), fs::perms(0600));
}

TEST_F(HostDisk, LinksThatAPodLeftLeadRootNowhere) {
    const std::string own = root() + "/wine/drive_c/ProgramData/Porthole";
    fs::create_directories(own);
    for (const char* name : {"emulator.json", "token"}) fs::create_symlink(machine() + "/file", own + "/" + name);
    EXPECT_FALSE(read_host_services(root()));
    ASSERT_TRUE(write_host_services(root(), "{}", "abc"));
    EXPECT_EQ(machines_file(), "the machine's");
    fs::remove_all(own);
    fs::create_directory_symlink(machine(), own);
    EXPECT_EQ(write_host_services(root(), "{}", "abc").error().reason, Reason::Forbidden);
    EXPECT_FALSE(fs::exists(machine() + "/token"));
}

TEST_F(HostDisk, ARegistryThatIsALinkIsRefused) {
    fs::create_symlink(machine() + "/file", root() + "/wine/system.reg");
    const auto prepared = prepare_registry(root(), host_profiles().front());
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().reason, Reason::Forbidden);
    EXPECT_EQ(machines_file(), "the machine's");
}

}  // namespace
}  // namespace porthole::winhost
