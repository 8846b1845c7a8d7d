#include "winhost/runtime/container_root.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// Another pod that may write to C:\ has made C:\var a link to a folder of the machine before the log's folder is made and mounted.
TEST(ContainerLog, GoesNowhereThroughALinkOnTheHostsDrive) {
    const auto files = make_file_system();
    TestFolder folder;
    const std::string host = folder.path() + "/host", machine = folder.path() + "/machine";
    fs::create_directories(drive_of(host));
    fs::create_directories(machine);
    fs::create_directory_symlink(machine, drive_of(host) + "/var");
    ContainerRecord container;
    container.config.log_path = "app\\0.log";
    SandboxRecord sandbox;
    sandbox.config.log_directory = "C:\\var\\log\\pods\\p";
    const Folder own{folder.path() + "/own"};
    const ContainerUsers users;
    std::vector<OciMount> mounts;
    const auto refused = mount_log(*files, RootRequest{container, sandbox, own, own, {}, host, users}, mounts);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::Forbidden) << refused.error().message;
    EXPECT_TRUE(fs::is_empty(machine));
    fs::remove_all(drive_of(host));
    fs::create_directory_symlink(machine, drive_of(host));  // C:\ itself
    EXPECT_EQ(mount_log(*files, RootRequest{container, sandbox, own, own, {}, host, users}, mounts).error().reason, Reason::Forbidden);
    EXPECT_TRUE(fs::is_empty(machine));
    EXPECT_TRUE(mounts.empty());
}

}  // namespace
}  // namespace porthole::winhost
