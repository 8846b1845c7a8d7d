#include "winhost/bundle/overlay.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// A host's drive with a volume, and the machine around it.
struct HeldSourceTest : testing::Test {
    HeldSourceTest() {
        char name[] = "/tmp/porthole-source-XXXXXX";
        root = fs::canonical(::mkdtemp(name)).string();
        fs::create_directories(root + "/drive/volume/a");
        fs::create_directories(root + "/machine");
        std::ofstream(root + "/drive/volume/a/file") << "the pod's";
        std::ofstream(root + "/machine/file") << "the machine's";
    }
    ~HeldSourceTest() override { fs::remove_all(root); }

    std::string root;
};

TEST_F(HeldSourceTest, StaysWhatItWasWhenItsPathBecomesALink) {
    const auto held = HeldSource::open(root + "/drive", root + "/drive/volume/a");
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_TRUE(held->is_directory());
    fs::rename(root + "/drive/volume/a", root + "/drive/volume/b");
    fs::create_directory_symlink(root + "/machine", root + "/drive/volume/a");
    std::ifstream file(held->path() + "/file");
    std::string text;
    std::getline(file, text);
    EXPECT_EQ(text, "the pod's");
}

TEST_F(HeldSourceTest, IsRefusedOnceALinkStandsInItsPath) {
    fs::remove_all(root + "/drive/volume/a");
    fs::create_directory_symlink(root + "/machine", root + "/drive/volume/a");
    for (const char* path : {"/drive/volume/a", "/drive/volume/a/file"}) {
        const auto held = HeldSource::open(root + "/drive", root + path);
        ASSERT_FALSE(held) << path;
        EXPECT_EQ(held.error().reason, Reason::Forbidden) << held.error().message;
    }
    EXPECT_EQ(HeldSource::open(root + "/drive", root + "/machine").error().reason, Reason::Forbidden);
    EXPECT_EQ(HeldSource::open(root + "/drive", root + "/drive/nothing").error().reason, Reason::NotFound);
    EXPECT_TRUE(HeldSource::open(root + "/drive", root + "/drive"));
}

}  // namespace
}  // namespace porthole::winhost
