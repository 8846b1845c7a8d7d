#include "cmd/self_check/shown_output.h"

#include <gtest/gtest.h>

#include <vector>

namespace porthole::cmd::self_check {
namespace {

/// One after the other, and then the end.
ReadPiece pieces(std::vector<std::string> all) {
    return
        [all = std::move(all), next = std::size_t{0}]() mutable { return next < all.size() ? std::optional(all[next++]) : std::nullopt; };
}

TEST(ShownOutput, IsReadAsFarAsItIsThere) {
    const ReadPiece read = pieces({"one ", "two", "", " three"});
    std::string text;
    EXPECT_EQ(read_shown(read, text), Shown::More);
    EXPECT_EQ(text, "one two");
    EXPECT_EQ(read_shown(read, text), Shown::Ended);
    EXPECT_EQ(text, "one two three");
}

TEST(ShownOutput, WithoutEndIsReadUpToTheLimit) {
    int reads = 0;
    const ReadPiece endless = [&]() -> std::optional<std::string> { return ++reads, std::string(300, 'x'); };
    std::string text;
    EXPECT_EQ(read_shown(endless, text, 1000), Shown::TooMuch);
    EXPECT_EQ(text.size(), 1000u);
    EXPECT_EQ(read_shown(endless, text, 1000), Shown::TooMuch);
    EXPECT_EQ(reads, 4) << "nothing is read that has no room";
}

}  // namespace
}  // namespace porthole::cmd::self_check
