#include "csi_proxy/held_removal_windows.h"

#include <gtest/gtest.h>

#include "runtime/files/file_system.h"

namespace porthole::csi_proxy {
namespace {

struct HeldRemovalTest : testing::Test {
    void SetUp() override { ASSERT_TRUE(files->create_directories(folder + "\\a\\b\\c", 0755)); }
    void TearDown() override { EXPECT_TRUE(files->remove_all(folder)); }
    Result<void> remove(const std::string& name, Removal what) { return remove_by_handles(folder, folder + "\\" + name, what); }
    bool exists(const std::string& name) { return files->exists(folder + "\\" + name); }
    std::unique_ptr<FileSystem> files = make_file_system();
    const std::string folder = "C:\\windows\\temp\\porthole held removal test";
};

TEST_F(HeldRemovalTest, RemovesOneATreeAndContents) {
    ASSERT_TRUE(files->write(folder + "\\a\\b\\c\\größe", "x", 0644));
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(files->write(folder + "\\a\\b\\file" + std::to_string(i), "x", 0444));
    EXPECT_FALSE(remove("a\\b", Removal::One)) << "it is not empty";
    EXPECT_TRUE(remove("a\\b\\file7", Removal::One));
    EXPECT_FALSE(exists("a\\b\\file7"));
    EXPECT_TRUE(remove("a", Removal::Contents));
    EXPECT_TRUE(exists("a"));
    EXPECT_EQ(files->list(folder + "\\a").value().size(), 0u);
    ASSERT_TRUE(files->create_directories(folder + "\\a\\b", 0755));
    EXPECT_TRUE(remove("A", Removal::Tree));
    EXPECT_FALSE(exists("a"));
}

TEST_F(HeldRemovalTest, WhatIsNotThereIsFineOnlyForTrees) {
    EXPECT_TRUE(remove("none", Removal::Tree));
    EXPECT_TRUE(remove("none\\deep", Removal::Tree));
    EXPECT_EQ(remove("none", Removal::One).error().reason, Reason::NotFound);
    EXPECT_EQ(remove("none\\deep", Removal::One).error().reason, Reason::NotFound);
    EXPECT_EQ(remove("none", Removal::Contents).error().reason, Reason::NotFound);
    EXPECT_TRUE(exists("a\\b\\c"));
}

TEST_F(HeldRemovalTest, AFileIsNoWay) {
    ASSERT_TRUE(files->write(folder + "\\file", "x", 0644));
    EXPECT_FALSE(remove("file\\x", Removal::One));
    EXPECT_FALSE(remove("file", Removal::Contents));
    EXPECT_TRUE(exists("file"));
}

}  // namespace
}  // namespace porthole::csi_proxy
