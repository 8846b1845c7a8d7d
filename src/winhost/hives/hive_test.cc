#include "winhost/hives/hive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "winhost/hives/test_hive.h"

namespace porthole::winhost {
namespace {

using testing::HasSubstr;

std::string why(const std::string& bytes, const HiveLimits& limits = {}) {
    const auto hive = parse_hive(bytes, limits);
    return hive ? "" : hive.error().message;
}

HiveKey sample() {
    return {.values = {{u"", 1, utf16(u"default")}},
            .keys = {{.name = u"A",
                      .values = {{u"text", 2, utf16(u"%PATH%")}, {u"number", 4, std::string("\1\0\0\0", 4)}, {u"none", 0, ""}},
                      .keys = {{.name = u"жук", .values = {{u"имя", 11, std::string(8, 'x')}}}}},
                     {.name = u"B"}}};
}

TEST(Hive, ReadsKeysAndValuesInEveryKindOfList) {
    for (const char* list : {"li", "lf", "lh", "ri"}) {
        SCOPED_TRACE(list);
        const auto root = parse_hive(TestHive::bytes(sample(), list));
        ASSERT_TRUE(root) << root.error().message;
        ASSERT_EQ(root->keys.size(), 2u);
        const HiveKey& a = root->keys[0];
        EXPECT_EQ(root->values[0].name, u"");
        EXPECT_EQ(root->values[0].data, utf16(u"default"));
        EXPECT_EQ(a.name, u"A");
        ASSERT_EQ(a.values.size(), 3u);
        EXPECT_EQ(a.values[0].type, 2u);
        EXPECT_EQ(a.values[1].data, std::string("\1\0\0\0", 4));
        EXPECT_EQ(a.values[2].data, "");
        EXPECT_EQ(a.keys[0].name, u"жук");
        EXPECT_EQ(a.keys[0].values[0].name, u"имя");
        EXPECT_EQ(root->keys[1].name, u"B");
    }
}

TEST(Hive, PutsLargeDataTogether) {
    std::string large;
    for (int i = 0; i < 50'000; ++i) large += static_cast<char>(i % 251);
    const auto root = parse_hive(TestHive::bytes({.values = {{u"large", 3, large}}}));
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(root->values[0].data, large);
}

TEST(Hive, KnowsHowLayersReplaceEachOther) {
    using Layering = HiveKey::Layering;
    const auto root = parse_hive(TestHive::bytes({.values = {{.name = u"gone", .is_tombstone = true}},
                                                  .keys = {{.name = u"1", .layering = Layering::Tombstone},
                                                           {.name = u"2", .layering = Layering::SupersedeValues},
                                                           {.name = u"3", .layering = Layering::SupersedeTree},
                                                           {.name = u"4", .is_link = true}}}));
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_TRUE(root->values[0].is_tombstone);
    EXPECT_EQ(root->keys[0].layering, Layering::Tombstone);
    EXPECT_EQ(root->keys[1].layering, Layering::SupersedeValues);
    EXPECT_EQ(root->keys[2].layering, Layering::SupersedeTree);
    EXPECT_EQ(root->keys[3].layering, Layering::Merge);
    EXPECT_TRUE(root->keys[3].is_link);
}

TEST(Hive, RefusesWhatIsNone) {
    const std::string good = TestHive::bytes(sample());
    EXPECT_EQ(why(good), "");
    EXPECT_THAT(why(""), HasSubstr("does not begin as one"));
    EXPECT_THAT(why(good.substr(0, 4095)), HasSubstr("does not begin as one"));
    EXPECT_THAT(why(good.substr(0, 4096)), HasSubstr("outside"));
    std::string other = good;
    other[24] = 7;
    EXPECT_THAT(why(other), HasSubstr("version 1.7"));
    other = good;
    other[36] = 1;
    other[37] = 0;
    EXPECT_THAT(why(other), HasSubstr("wrong size"));
}

TEST(Hive, ReadsNoCellTwice) {
    std::string bytes = TestHive::bytes({.keys = {{.name = u"A", .keys = {{.name = u"B"}}}}});
    // The one list whose entry is the offset of B gets that of the root.
    const std::size_t list = bytes.find("lh");
    ASSERT_NE(list, bytes.npos);
    bytes.replace(list + 4, 4, bytes, 36, 4);
    EXPECT_THAT(why(bytes), HasSubstr("twice"));
}

TEST(Hive, ReadsNoMoreThanItMay) {
    const std::string bytes = TestHive::bytes(sample());
    EXPECT_EQ(why(bytes, {.depth = 2, .keys = 4, .values = 5, .bytes = 200}), "");
    EXPECT_THAT(why(bytes, {.depth = 1}), HasSubstr("nested too deeply"));
    EXPECT_THAT(why(bytes, {.keys = 3}), HasSubstr("too many keys"));
    EXPECT_THAT(why(bytes, {.values = 4}), HasSubstr("too many values"));
    EXPECT_THAT(why(bytes, {.bytes = 40}), HasSubstr("too large"));
}

TEST(Hive, RefusesNamesThatAreNoNames) {
    EXPECT_THAT(why(TestHive::bytes({.keys = {{.name = u"a\\b"}}})), HasSubstr("invalid name"));
    EXPECT_THAT(why(TestHive::bytes({.keys = {{.name = std::u16string(256, u'x')}}})), HasSubstr("invalid name"));
}

}  // namespace
}  // namespace porthole::winhost
