#include "winhost/host/csi_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// A host's disk, and the machine around it.
struct CsiFilesTest : testing::Test {
    CsiFilesTest() {
        fs::create_directories(kubelet() + "/plugins/staged");
        fs::create_directories(kubelet() + "/pods/1");
        fs::create_directories(machine());
        std::ofstream(machine() + "/file") << "the machine's";
    }
    std::string root() const { return folder.path() + "/root"; }
    std::string kubelet() const { return root() + "/wine/drive_c/var/lib/kubelet"; }
    std::string machine() const { return folder.path() + "/machine"; }

    TestFolder folder;
    std::unique_ptr<csi_proxy::Files> files = make_csi_files(root());
    const std::string k = "C:\\var\\lib\\kubelet";
};

// EMU-10
TEST_F(CsiFilesTest, LinksWorkForTheHostsProgramsAndForMounts) {
    ASSERT_TRUE(files->create_link(k + "\\plugins\\staged", k + "\\pods\\1\\mount"));
    std::ofstream(kubelet() + "/plugins/staged/file") << "x";
    EXPECT_EQ(fs::read_symlink(kubelet() + "/pods/1/mount"), "../../plugins/staged") << "whatever the drive is called";
    EXPECT_TRUE(fs::exists(kubelet() + "/pods/1/mount/file"));
    EXPECT_TRUE(files->is_link(k + "\\pods\\1\\mount").value());
    EXPECT_FALSE(files->is_link(k + "\\plugins\\staged").value());
    EXPECT_EQ(files->create_link(k + "\\plugins\\staged", k + "\\pods\\1\\mount").error().reason, Reason::AlreadyExists);
    EXPECT_TRUE(files->remove(k + "\\pods\\1\\mount"));
    EXPECT_FALSE(files->exists(k + "\\pods\\1\\mount").value());
    EXPECT_TRUE(fs::exists(kubelet() + "/plugins/staged/file"));
}

TEST_F(CsiFilesTest, NamesAreFoundWhateverTheirCase) {
    EXPECT_TRUE(files->exists("c:\\VAR\\lib\\Kubelet\\PLUGINS\\Staged").value());
    ASSERT_TRUE(files->create_directories(k + "\\Plugins\\New\\Deep"));
    EXPECT_TRUE(fs::is_directory(kubelet() + "/plugins/New/Deep"));
}

TEST_F(CsiFilesTest, LinksThatAPodLeftLeadNowhere) {
    fs::create_directory_symlink(machine(), kubelet() + "/pods/out");
    EXPECT_FALSE(files->create_directories(k + "\\pods\\out\\new"));
    EXPECT_FALSE(files->remove(k + "\\pods\\out\\file"));
    EXPECT_FALSE(files->remove_contents(k + "\\pods\\out"));
    EXPECT_FALSE(files->create_link(k + "\\plugins\\staged", k + "\\pods\\out\\link"));
    EXPECT_FALSE(files->exists(k + "\\pods\\out\\file"));
    EXPECT_TRUE(files->remove_all(k + "\\pods"));
    EXPECT_FALSE(fs::exists(kubelet() + "/pods"));
    EXPECT_EQ(std::distance(fs::directory_iterator(machine()), fs::directory_iterator()), 1);
}

TEST_F(CsiFilesTest, LinksTellNothingOfTheMachine) {
    fs::create_symlink(machine() + "/file", kubelet() + "/pods/absolute");
    fs::create_symlink("../../../../../../../../.." + machine() + "/file", kubelet() + "/pods/relative");
    fs::create_directory_symlink(machine(), kubelet() + "/pods/Folder");
    EXPECT_FALSE(files->is_link(k + "\\pods\\absolute").value()) << "there is a file, but not below the host's root";
    EXPECT_FALSE(files->is_link(k + "\\pods\\relative").value());
    fs::create_directories(machine() + "/Name");
    const auto below = files->exists(k + "\\pods\\Folder\\name\\file");
    ASSERT_FALSE(below.has_value());
    EXPECT_NE(below.error().message.find("Folder/name"), std::string::npos)
        << "and not as the machine spells it: " << below.error().message;
}

TEST_F(CsiFilesTest, RemovesFoldersWithWhatIsInThem) {
    fs::create_directories(kubelet() + "/plugins/staged/a/b");
    std::ofstream(kubelet() + "/plugins/staged/a/file") << "x";
    EXPECT_FALSE(files->remove(k + "\\plugins\\staged"));
    EXPECT_TRUE(files->remove_contents(k + "\\plugins\\staged"));
    EXPECT_TRUE(fs::is_empty(kubelet() + "/plugins/staged"));
    EXPECT_TRUE(files->remove_all(k + "\\plugins\\staged"));
    EXPECT_TRUE(files->remove_all(k + "\\plugins\\staged")) << "it is not there";
}

}  // namespace
}  // namespace porthole::winhost
