#include "winhost/runtime/container_root.h"

#include <gtest/gtest.h>

#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "runtime/files/own_mounts_fixture.h"
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

/// On a file system that can be the upper part of an overlay, wherever the tests run.
struct ContainerRootTest : OwnMountsTest {
    void SetUp() override {
        OwnMountsTest::SetUp();
        if (IsSkipped()) return;
        ASSERT_EQ(::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr), 0);
        for (const char* part : {"host/wine/drive_c/v/a", "machine", "template/wine/drive_c"}) fs::create_directories(place(part));
        std::ofstream(place("host/wine/drive_c/v/a/file")) << "the volume's";
        std::ofstream(place("machine/file")) << "the machine's";
    }
};

/// Another container of the pod puts a link in the place of the subPath's folder after it was looked at and before runc mounts it.
TEST_F(ContainerRootTest, RuncMountsWhatWasPreparedWhenTheSourceHasBecomeALink) {
    const auto files = make_file_system();
    ContainerRecord container;
    container.config.mounts.push_back({.container_path = "C:\\x", .host_path = "C:\\v\\a"});
    const SandboxRecord sandbox;
    const ContainerUsers users;
    const Folder own{place("own")};
    const auto mounts = prepare_root(*files, RootRequest{container, sandbox, own, own, {place("template")}, place("host"), users});
    ASSERT_TRUE(mounts) << mounts.error().message;
    ASSERT_EQ(mounts->back().destination, "/wine/drive_c/x");

    fs::rename(place("host/wine/drive_c/v/a"), place("host/wine/drive_c/v/b"));
    fs::create_directory_symlink(place("machine"), place("host/wine/drive_c/v/a"));
    EXPECT_EQ(TestFolder::read_file(mounts->back().source + "/file"), "the volume's");
}

}  // namespace
}  // namespace porthole::winhost
