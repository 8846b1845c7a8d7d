#include "controllers/job/index_set.h"

#include <gtest/gtest.h>

namespace porthole::controllers {
namespace {

TEST(IndexSet, ReadsAndWritesWhatAStatusCarries) {
    struct {
        const char *name, *text, *canonical;
        std::int32_t size;
    } const rows[] = {
        {"none", "", "", 0},
        {"one", "7", "7", 1},
        {"two neighbors stay apart", "3,4", "3,4", 2},
        {"three are a range", "3,4,5", "3-5", 3},
        {"mixed", "0,2-5,9", "0,2-5,9", 6},
        {"out of order and overlapping", "5,2-6,1", "1-6", 6},
        {"beyond the limit", "8-20", "8,9", 2},
        {"nonsense is left out", "x,1,5-2,-3,2-y", "1", 1},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const IndexSet set = IndexSet::parse(row.text, 10);
        EXPECT_EQ(set.to_string(), row.canonical);
        EXPECT_EQ(set.size(), row.size);
    }
}

TEST(IndexSet, JoinsWhatComesBetween) {
    IndexSet set;
    for (const std::int32_t index : {4, 2, 3, 3, 0}) set.insert(index);
    EXPECT_EQ(set.to_string(), "0,2-4");
    EXPECT_TRUE(set.contains(3));
    EXPECT_FALSE(set.contains(1));
    set.insert(1);
    EXPECT_EQ(set.to_string(), "0-4");
}

TEST(IndexSet, IsNotCountedIndexByIndex) {
    constexpr std::int32_t Most = INT32_MAX;
    const IndexSet all = IndexSet::parse("1,0-2147483646", Most);
    EXPECT_EQ(all.size(), Most);
    EXPECT_EQ(all.size_of_common(all), Most);
    EXPECT_EQ(all.size_of_common(IndexSet::parse("0,2-5,9", 100)), 6);
    EXPECT_EQ(IndexSet::parse("0-3,8-12", 100).size_of_common(IndexSet::parse("2-9,11", 100)), 5);
    EXPECT_EQ(all.size_of_common(IndexSet()), 0);
    EXPECT_EQ(all.first_absent(0), Most);
}

TEST(IndexSet, FindsTheLowestIndexThatIsAbsent) {
    const IndexSet set = IndexSet::parse("0,2-5,9", 100);
    EXPECT_EQ(set.first_absent(0), 1);
    EXPECT_EQ(set.first_absent(1), 1);
    EXPECT_EQ(set.first_absent(2), 6);
    EXPECT_EQ(set.first_absent(5), 6);
    EXPECT_EQ(set.first_absent(9), 10);
    EXPECT_EQ(IndexSet().first_absent(3), 3);
}

}  // namespace
}  // namespace porthole::controllers
