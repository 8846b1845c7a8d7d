#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "kubelet/volumes/framework/mounter.h"

namespace porthole::kubelet {
namespace {

namespace fs = std::filesystem;

/// A volume beside something that is not the pod's.
struct MounterTest : testing::Test {
    MounterTest() {
        char name[] = "/tmp/porthole-mounter-XXXXXX";
        root = ::mkdtemp(name);
        volume = root + "/volume";
        outside = root + "/outside";
        fs::create_directory(volume);
        fs::create_directory(outside);
        EXPECT_EQ(::chmod(volume.c_str(), 02775), 0);
        EXPECT_EQ(::chmod(outside.c_str(), 0700), 0);
    }
    ~MounterTest() override { fs::remove_all(root); }

    static unsigned mode_of(const std::string& path) {
        struct stat status{};
        EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777;
    }

    std::unique_ptr<Mounter> mounter = make_mounter();
    std::string root, volume, outside;
};

TEST_F(MounterTest, MakesMissingDirectoriesWithTheModeOfTheVolume) {
    ASSERT_TRUE(mounter->make_beneath(volume, "a/b"));
    EXPECT_EQ(mode_of(volume + "/a"), 02775u);
    EXPECT_EQ(mode_of(volume + "/a/b"), 02775u);
    ASSERT_EQ(::chmod((volume + "/a").c_str(), 0755), 0);
    ASSERT_TRUE(mounter->make_beneath(volume, "a/c"));
    EXPECT_EQ(mode_of(volume + "/a"), 0755u) << "what was there stays as it is";
    fs::create_directory_symlink("a", volume + "/inside");
    ASSERT_TRUE(mounter->make_beneath(volume, "inside/d")) << "a link that stays in the volume";
    EXPECT_TRUE(fs::is_directory(volume + "/a/d"));
}

TEST_F(MounterTest, LinksDoNotLeadOutOfTheVolume) {
    fs::create_directory_symlink(outside, volume + "/absolute");
    fs::create_directory_symlink("../outside", volume + "/relative");
    for (const char* link : {"absolute", "relative"}) {
        const auto made = mounter->make_beneath(volume, std::string(link) + "/b");
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().reason, Reason::Forbidden) << made.error().message;
        (void)mounter->make_beneath(volume, link);
        EXPECT_EQ(mode_of(outside), 0700u) << link;
    }
    EXPECT_TRUE(fs::is_empty(outside));
}

}  // namespace
}  // namespace porthole::kubelet
