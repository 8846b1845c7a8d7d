#include "winhost/bundle/held_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// A host's drive with a volume, and the machine around it.
struct HeldTreeTest : testing::Test {
    HeldTreeTest() {
        char name[] = "/tmp/porthole-tree-XXXXXX";
        root = fs::canonical(::mkdtemp(name)).string();
        fs::create_directories(root + "/drive/volume/a");
        fs::create_directories(root + "/machine");
        std::ofstream(root + "/drive/volume/a/file") << "the pod's";
        std::ofstream(root + "/machine/file") << "the machine's";
    }
    ~HeldTreeTest() override { fs::remove_all(root); }

    HeldTree tree() const { return *HeldTree::open(root + "/drive"); }
    std::string text_of(const std::string& path) const {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    void link_folder_to_machine() {
        fs::remove_all(root + "/drive/volume/a");
        fs::create_directory_symlink(root + "/machine", root + "/drive/volume/a");
    }

    std::string root;
};

TEST_F(HeldTreeTest, HoldsWhatItOpenedWhenThePathBecomesALink) {
    const auto held = tree().hold("volume/a");
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_TRUE(held->is_directory());
    fs::rename(root + "/drive/volume/a", root + "/drive/volume/b");
    fs::create_directory_symlink(root + "/machine", root + "/drive/volume/a");
    EXPECT_EQ(text_of(held->path() + "/file"), "the pod's");
}

TEST_F(HeldTreeTest, DoesNothingThroughALink) {
    link_folder_to_machine();
    for (const char* path : {"volume/a", "volume/a/file", "../machine/file"}) {
        SCOPED_TRACE(path);
        EXPECT_EQ(tree().hold(path).error().reason, Reason::Forbidden);
        EXPECT_EQ(tree().read(path, 100).error().reason, Reason::Forbidden);
    }
    EXPECT_EQ(tree().write("volume/a/file", "root's", 0600).error().reason, Reason::Forbidden);
    EXPECT_EQ(tree().copy_in(root + "/machine/file", "volume/a/copy", "").error().reason, Reason::Forbidden);
    EXPECT_EQ(tree().create_directories("volume/a/b", 0755).error().reason, Reason::Forbidden);
    EXPECT_EQ(tree().create_symlink("x", "volume/a/link").error().reason, Reason::Forbidden);
    EXPECT_EQ(text_of(root + "/machine/file"), "the machine's");
    EXPECT_EQ(std::distance(fs::directory_iterator(root + "/machine"), fs::directory_iterator()), 1);
}

TEST_F(HeldTreeTest, ReplacesALinkInTheFilesPlace) {
    fs::create_symlink(root + "/machine/file", root + "/drive/token");
    fs::create_symlink(root + "/machine/file", root + "/drive/token.porthole-new");
    ASSERT_TRUE(tree().write("token", "secret", 0600));
    EXPECT_EQ(text_of(root + "/machine/file"), "the machine's");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(root + "/drive/token")));
    EXPECT_EQ(*tree().read("token", 100), "secret");
    EXPECT_EQ(fs::status(root + "/drive/token").permissions(), fs::perms(0600));
}

TEST_F(HeldTreeTest, WritesIntoNoFileThatAnotherHasOpen) {
    std::ofstream(root + "/drive/token") << "old";
    fs::create_hard_link(root + "/drive/token", root + "/drive/mine");
    ASSERT_TRUE(tree().write("token", "secret", 0600));
    EXPECT_EQ(text_of(root + "/drive/mine"), "old");
}

TEST_F(HeldTreeTest, ReadsRegularFilesOnlyAndNeverWaits) {
    ASSERT_EQ(::mkfifo((root + "/drive/pipe").c_str(), 0600), 0);
    EXPECT_EQ(tree().read("pipe", 100).error().reason, Reason::Forbidden);
    EXPECT_EQ(tree().read("volume", 100).error().reason, Reason::Forbidden);
    EXPECT_EQ(tree().read("nothing", 100).error().reason, Reason::NotFound);
    EXPECT_EQ(tree().read("volume/a/file", 4).error().reason, Reason::RequestEntityTooLarge);
    EXPECT_EQ(*tree().read("volume/a/file", 100), "the pod's");
}

TEST_F(HeldTreeTest, ReadsInPiecesAndTakesNoRoomForWhatAFileMightHave) {
    const std::string contents(40'000, 'x');
    ASSERT_TRUE(tree().write("large", contents, 0600));
    const auto read = tree().read("large", 64 << 20);
    EXPECT_TRUE(*read == contents);
    EXPECT_LT(read->capacity(), 1u << 20);
    EXPECT_TRUE(*tree().read("large", 40'000) == contents);
    EXPECT_EQ(tree().read("large", 39'999).error().reason, Reason::RequestEntityTooLarge);
}

TEST_F(HeldTreeTest, MakesFoldersWithTheirMode) {
    ASSERT_TRUE(tree().create_directories("x/y", 0700));
    ASSERT_TRUE(tree().create_directories("x/y", 0755));  // it stays as it was
    EXPECT_EQ(fs::status(root + "/drive/x").permissions(), fs::perms(0755));
    EXPECT_EQ(fs::status(root + "/drive/x/y").permissions(), fs::perms(0700));
}

TEST_F(HeldTreeTest, ASocketIsNoLinkToOne) {
    fs::create_symlink(root + "/machine/file", root + "/drive/s");
    EXPECT_EQ(hold_socket(root + "/drive/s").error().reason, Reason::Forbidden);
    EXPECT_EQ(hold_socket(root + "/drive/volume/a/file").error().reason, Reason::Forbidden);
    EXPECT_EQ(hold_socket(root + "/drive/none").error().reason, Reason::NotFound);
}

}  // namespace
}  // namespace porthole::winhost
