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

}  // namespace
}  // namespace porthole::controllers
