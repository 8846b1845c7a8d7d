#include "winhost/template/unused_templates.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

class UnusedTemplates : public ::testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/porthole-templates-XXXXXX";
        cache = ::mkdtemp(name);
    }
    void TearDown() override { (void)files->remove_all(cache); }

    /// A template that was used so long before now.
    std::string add(const std::string& name, std::chrono::minutes age) {
        const std::string folder = join_path(cache, name);
        EXPECT_TRUE(files->create_directories(join_path(folder, "root"), 0755));
        EXPECT_TRUE(mark_used(*files, folder));
        std::filesystem::last_write_time(join_path(folder, "used"), std::filesystem::file_time_type::clock::now() - age);
        return folder;
    }
    std::chrono::sys_time<std::chrono::nanoseconds> later(std::chrono::nanoseconds time) { return files->status(cache)->modified + time; }

    std::unique_ptr<FileSystem> files = make_file_system();
    std::string cache;
};

TEST_F(UnusedTemplates, TheTwoUsedLastStay) {
    const std::string first = add("wine-0123456789AB", 3min);
    add("wine-AAAAAAAAAAAA", 2min);
    add("wine-BBBBBBBBBBBB", 1min);
    EXPECT_EQ(find_unused_templates(*files, cache, "", later(2h)), std::vector{first});
    ASSERT_TRUE(mark_used(*files, first));
    EXPECT_EQ(find_unused_templates(*files, cache, "", later(2h)), std::vector{join_path(cache, "wine-AAAAAAAAAAAA")});
}

TEST_F(UnusedTemplates, WhatIsMountedOrUsedAMomentAgoStays) {
    const std::string first = add("wine-0123456789AB", 3min);
    add("wine-AAAAAAAAAAAA", 2min);
    add("wine-BBBBBBBBBBBB", 1min);
    EXPECT_TRUE(find_unused_templates(*files, cache, "", later(10min)).empty());
    const std::string mounts = "90 1 0:9 / /data/rootfs rw - overlay overlay rw,lowerdir=" + first + "/profile-2022:" + first + "/root";
    EXPECT_TRUE(find_unused_templates(*files, cache, mounts, later(2h)).empty());
}

TEST_F(UnusedTemplates, NothingElseInTheCacheIsTouched) {
    for (const char* name : {"windows", "sources", "wine", "wine-building", "wine-0123456789ABCD", "wine-notes-of-1"}) add(name, 3min);
    add("wine-AAAAAAAAAAAA", 2min);
    add("wine-BBBBBBBBBBBB", 1min);
    EXPECT_TRUE(find_unused_templates(*files, cache, "", later(24h)).empty());
}

TEST_F(UnusedTemplates, ADroppedOneIsGone) {
    const std::string folder = add("wine-0123456789AB", 1min);
    EXPECT_TRUE(drop_template(*files, folder));
    EXPECT_EQ(files->list(cache)->size(), 0u);
}

}  // namespace
}  // namespace porthole::winhost
