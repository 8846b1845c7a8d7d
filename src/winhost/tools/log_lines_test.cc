#include "winhost/tools/log_lines.h"

#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

std::vector<std::string> texts(const std::vector<LogLine>& lines) {
    std::vector<std::string> result;
    for (const LogLine& line : lines) result.push_back((line.whole ? "F " : "P ") + line.text);
    return result;
}
using Texts = std::vector<std::string>;

TEST(LogLines, KeepsCarriageReturnsAndJoinsPieces) {
    LogLines lines;
    EXPECT_EQ(texts(lines.add("one\r\ntw")), Texts{"F one\r"});
    EXPECT_EQ(texts(lines.add("o\nthree")), Texts{"F two"});
    EXPECT_EQ(texts(lines.rest()), Texts{"P three"});
    EXPECT_TRUE(lines.rest().empty());
}

TEST(LogLines, TurnsForeignBytesIntoUtf8) {
    EXPECT_EQ(LogLines::to_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");            // is UTF-8
    EXPECT_EQ(LogLines::to_utf8("gr\xfc\xdf \x80"), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");  // is Windows-1252
    EXPECT_EQ(LogLines::to_utf8("\xed\xa0\x80"), "\xc3\xad\xc2\xa0\xe2\x82\xac");        // a lone surrogate is no UTF-8
}

TEST(LogLines, CutsLongLinesBetweenCharacters) {
    LogLines lines;
    const std::string text = std::string(LogLines::LongestLine - 1, 'x') + "\xc3\xbc" + "y\n";
    const auto cut = lines.add(text);
    ASSERT_EQ(cut.size(), 2u);
    EXPECT_EQ(cut[0].text, std::string(LogLines::LongestLine - 1, 'x'));
    EXPECT_FALSE(cut[0].whole);
    EXPECT_EQ(cut[1].text, "\xc3\xbcy");
    EXPECT_TRUE(cut[1].whole);
}

}  // namespace
}  // namespace porthole::winhost
