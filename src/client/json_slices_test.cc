#include "client/json_slices.h"

#include <gtest/gtest.h>

namespace porthole::client {
namespace {

TEST(JsonSlices, CutsAWatchEvent) {
    const auto members = json_members(R"( {"type":"ADDED", "object" : {"a":"}\"{","b":[1,{}]} } )");
    ASSERT_TRUE(members);
    ASSERT_EQ(members->size(), 2u);
    EXPECT_EQ(json_plain_string((*members)[0].second), "ADDED");
    EXPECT_EQ((*members)[1].second, R"({"a":"}\"{","b":[1,{}]})");
}

TEST(JsonSlices, CutsAListOfAnyValues) {
    const auto elements = json_elements(R"([1, "a,b", null,{"x":[]} ,[[2]]])");
    ASSERT_TRUE(elements);
    EXPECT_EQ(*elements, (std::vector<std::string_view>{"1", R"("a,b")", "null", R"({"x":[]})", "[[2]]"}));
    EXPECT_TRUE(json_elements("[]")->empty());
    EXPECT_TRUE(json_members("{ }")->empty());
}

TEST(JsonSlices, RefusesWhatIsCutOff) {
    for (const char* text : {"", "{", "[", R"({"a")", R"({"a":)", R"({"a":{)", R"({"a":"x)", R"(["\)", "[1,", "[1 2]", "x", "{1:}"})
        EXPECT_FALSE(json_members(text).has_value() || json_elements(text).has_value()) << text;
}

}  // namespace
}  // namespace porthole::client
