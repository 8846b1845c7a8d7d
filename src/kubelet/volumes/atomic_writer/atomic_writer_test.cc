#include "kubelet/volumes/atomic_writer/atomic_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

struct AtomicWriterTest : testing::Test {
    AtomicWriterTest() { EXPECT_TRUE(files.create_directories("/v", 0755)); }
    Result<bool> write(const Payload& payload) { return writer.write(payload); }
    std::vector<std::string> names() { return files.list("/v").value(); }

    porthole::sim::SimLoop loop;
    SeededRandom random{1};
    porthole::sim::MemoryFileSystem files{loop};
    AtomicWriter writer{files, loop, random, "/v"};
};

TEST_F(AtomicWriterTest, EveryNameGoesThroughOneLink) {
    ASSERT_TRUE(write({{"a", {"1"}}, {"dir/b", {"2", 0400}}}));
    EXPECT_EQ(files.read("/v/a").value(), "1");
    EXPECT_EQ(files.read("/v/dir/b").value(), "2");
    EXPECT_EQ(files.status("/v/dir/b")->mode, 0400u);
    EXPECT_EQ(files.read_link("/v/a").value(), "..data/a");
    EXPECT_THAT(files.read_link("/v/..data").value(), testing::MatchesRegex("\\.\\.2026_01_01_01_00_00\\.[0-9]+"));
    EXPECT_EQ(names().size(), 4u);
}

TEST_F(AtomicWriterTest, NothingIsTouchedWhenNothingDiffers) {
    ASSERT_TRUE(write({{"a", {"1"}}, {"d/b", {"2"}}}).value());
    const std::string before = files.read_link("/v/..data").value();
    EXPECT_FALSE(write({{"a", {"1"}}, {"d/b", {"2"}}}).value());
    EXPECT_EQ(files.read_link("/v/..data").value(), before);
    EXPECT_TRUE(write({{"a", {"1"}}, {"d/c", {"2"}}}).value());
    EXPECT_TRUE(write({{"a", {"1", 0600}}, {"d/c", {"2"}}}).value());
}

TEST_F(AtomicWriterTest, ChangesSwapTheWholeSetAndDropWhatHasGone) {
    ASSERT_TRUE(write({{"a", {"1"}}, {"b", {"1"}}}));
    ASSERT_TRUE(write({{"a", {"2"}}, {"c", {"2"}}}));
    EXPECT_EQ(files.read("/v/a").value(), "2");
    EXPECT_FALSE(files.exists("/v/b"));
    EXPECT_EQ(names().size(), 4u);  // one data directory, ..data, a, c
}

TEST_F(AtomicWriterTest, WithoutLinksTheFilesThemselvesAreReplaced) {
    files.refuse_links(true);
    ASSERT_TRUE(write({{"a", {"1"}}, {"d/b", {"1"}}}).value());
    EXPECT_EQ(files.read("/v/a").value(), "1");
    EXPECT_FALSE(write({{"a", {"1"}}, {"d/b", {"1"}}}).value());
    ASSERT_TRUE(write({{"a", {"2"}}, {"d/c", {"2"}}}).value());
    EXPECT_EQ(files.read("/v/a").value(), "2");
    EXPECT_EQ(files.read("/v/d/c").value(), "2");
    EXPECT_FALSE(files.exists("/v/d/b"));
    EXPECT_EQ(names().size(), 2u);
}

TEST_F(AtomicWriterTest, PathsThatLeadOutAreRefused) {
    for (const char* path : {"", "/a", "..", "../a", "a/../b", "..data"}) EXPECT_FALSE(write({{path, {"x"}}})) << path;
    EXPECT_TRUE(names().empty());
}

TEST_F(AtomicWriterTest, AFullDiskLeavesTheOldSet) {
    ASSERT_TRUE(write({{"a", {"1"}}}));
    files.fail_writes(true);
    EXPECT_FALSE(write({{"a", {"2"}}}));
    EXPECT_EQ(files.read("/v/a").value(), "1");
}

}  // namespace
}  // namespace porthole::kubelet
