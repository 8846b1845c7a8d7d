#include "base/closest_word.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(ClosestWord, IsWhatWasProbablyMeant) {
    const struct {
        const char *word, *meant;
    } rows[] = {{"wbe", "web"}, {"nod", "nodes"}, {"node", "nodes"}, {"wine-rot", "wine-root"}, {"up", "up"},
                {"pu", ""},     {"xy", ""},       {"", ""},          {"something", ""}};
    for (const auto& row : rows) EXPECT_EQ(closest_word(row.word, {"nodes", "up", "web", "wine-root"}), row.meant) << row.word;
    EXPECT_EQ(closest_word("web", {}), "");
}

}  // namespace
}  // namespace porthole
