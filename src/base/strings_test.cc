#include "base/strings.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

using Strings = std::vector<std::string>;

TEST(Strings, ChangesTheCaseOfAsciiLettersOnly) {
    EXPECT_EQ(to_lower("Pod-1_Ä@[`{"), "pod-1_Ä@[`{");
    EXPECT_EQ(to_upper("Pod-1_ä@[`{"), "POD-1_ä@[`{");
}

TEST(Strings, ComparesIgnoringTheCaseOfAsciiLetters) {
    EXPECT_TRUE(equal_ignoring_case("Content-Type", "content-TYPE"));
    EXPECT_FALSE(equal_ignoring_case("content-type", "content-types"));
    EXPECT_FALSE(equal_ignoring_case("[", "{"));
}

TEST(Strings, TrimsBothEnds) {
    EXPECT_EQ(trim(" \t a b\r\n"), "a b");
    EXPECT_EQ(trim("a"), "a");
    EXPECT_EQ(trim(" \n "), "");
    EXPECT_EQ(trim(""), "");
    EXPECT_EQ(trim("\"a b\" ", "\" "), "a b");
    EXPECT_EQ(trim("\ta ", " "), "\ta");
}

TEST(Strings, SplitKeepsEmptyParts) {
    EXPECT_EQ(split("a,,b,", ','), (Strings{"a", "", "b", ""}));
    EXPECT_EQ(split("", ','), Strings{""});
    EXPECT_EQ(split("a b", ','), Strings{"a b"});
}

TEST(Strings, SplitViewsPointIntoTheText) {
    const std::string text = "a,b";
    const auto parts = split_views(text, ',');
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[1].data(), text.data() + 2);
}

TEST(Strings, SplitNonemptyDropsEmptyParts) {
    EXPECT_EQ(split_nonempty("/api//v1/", '/'), (Strings{"api", "v1"}));
    EXPECT_EQ(split_nonempty("", '/'), Strings{});
}

TEST(Strings, SplitListTrimsItsItemsAndDropsEmptyOnes) {
    EXPECT_EQ(split_list("a, b,,c d "), (Strings{"a", "b", "c d"}));
    EXPECT_EQ(split_list(" "), Strings{});
    EXPECT_EQ(split_list("a;b", ';'), (Strings{"a", "b"}));
}

TEST(Strings, SplitsWordsAtAnyWhitespace) {
    EXPECT_EQ(split_words("  nameserver\t10.0.0.1 \r\n"), (Strings{"nameserver", "10.0.0.1"}));
    EXPECT_EQ(split_words(" \t"), Strings{});
}

TEST(Strings, JoinPutsASeparatorBetweenEveryTwoItems) {
    EXPECT_EQ(join(Strings{"a", "", "b"}, ", "), "a, , b");
    EXPECT_EQ(join(Strings{"", "a"}, ","), ",a");
    EXPECT_EQ(join(Strings{}, ","), "");
    EXPECT_EQ(join(std::vector{1, 2}, "+", [](int number) { return std::to_string(number); }), "1+2");
}

TEST(Strings, QuotesAsGoDoes) {
    EXPECT_EQ(quote("a \"b\" \\c"), R"("a \"b\" \\c")");
    EXPECT_EQ(quote("\a\b\f\n\r\t\v"), R"("\a\b\f\n\r\t\v")");
    EXPECT_EQ(quote(std::string_view("\x01\x00\x7f", 3)), R"("\x01\x00\x7f")");
    EXPECT_EQ(quote("schön"), "\"schön\"");
}

}  // namespace
}  // namespace porthole
