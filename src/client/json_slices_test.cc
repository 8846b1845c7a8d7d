#include "client/json_slices.h"

#include <gtest/gtest.h>

#include "client/client.h"

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

TEST(JsonSlices, FindsTheEndOfAStringWhereverItIs) {
    for (const char* escape : {"", R"(\")", R"(\\)", R"(\\\")", R"(\u0022)", "\x80\xa2"}) {
        for (std::size_t before = 0; before < 20; ++before) {
            const std::string text = "\"" + std::string(before, 'x') + escape + std::string(20 - before, '}') + "\"";
            const auto elements = json_elements("[" + text + "," + text + "]");
            ASSERT_TRUE(elements) << text;
            EXPECT_EQ(elements->size(), 2u) << text;
            EXPECT_FALSE(json_elements("[" + text.substr(0, text.size() - 1) + "]")) << text;
        }
    }
}

TEST(JsonSlices, FindsTheEndOfAnObjectWhereverItIs) {
    for (const char* object : {"{}", R"({"a":{"b":[{}]}})", R"({"{[":"]}"})", R"({"\"}":"\\"})", R"([["\\\"]"],{"x":{}}])"}) {
        for (std::size_t before = 0; before < 140; ++before) {
            const std::string item = "[\"" + std::string(before, '\\') + std::string(before % 2, '"') + "\"," + object + "]";
            const std::string list = "[" + item + "," + object + "]";
            const auto elements = json_elements(list);
            ASSERT_TRUE(elements) << list;
            EXPECT_EQ(*elements, (std::vector<std::string_view>{item, object}));
            EXPECT_FALSE(json_elements(list.substr(0, item.size()))) << list;
        }
    }
}

TEST(JsonSlices, CutsAnApiList) {
    const auto list = slice_list(R"({"kind":"PodList","items": [{"a":1},{"b":"]"}],"metadata":{"resourceVersion":"7","continue":"x"}})");
    ASSERT_TRUE(list);
    EXPECT_EQ(list->items, (std::vector<std::string_view>{R"({"a":1})", R"({"b":"]"})"}));
    EXPECT_EQ(list->resource_version, "7");
    EXPECT_EQ(list->continue_, "x");
    EXPECT_TRUE(slice_list(R"({"items": null})")->items.empty());
    EXPECT_TRUE(slice_list("{}")->items.empty());
    for (const char* text : {R"({"items":{}})", R"({"items":)", R"({"items":[)", R"({"items":[1})", "[]"})
        EXPECT_FALSE(slice_list(text)) << text;
}

TEST(JsonSlices, LeavesOutManagedFieldsWhereKubernetesWritesThem) {
    struct {
        const char *name, *object, *expected;
    } const rows[] = {
        {"last", R"({"kind":"Pod","metadata":{"name":"a","managedFields":[{"manager":"x"}]},"spec":{}})",
         R"({"kind":"Pod","metadata":{"name":"a"},"spec":{}})"},
        {"first", R"({"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}],"name":"a"}})", R"({"metadata":{"name":"a"}})"},
        {"in the middle", R"({"metadata":{"name":"a","managedFields":[],"uid":"u"}})", R"({"metadata":{"name":"a","uid":"u"}})"},
        {"alone", R"({"metadata":{"managedFields":[]}})", R"({"metadata":{}})"},
        {"a space before it", R"({"metadata":{"name":"a", "managedFields":[]}})", R"({"metadata":{"name":"a", "managedFields":[]}})"},
        {"a space after it", R"({"metadata":{"managedFields":[] ,"name":"a"}})", R"({"metadata":{"managedFields":[] ,"name":"a"}})"},
        {"a key that ends so", R"({"x\"metadata":{"managedFields":[1]}})", R"({"x\"metadata":{"managedFields":[1]}})"},
        {"none", R"({"metadata":{"name":"a"}})", R"({"metadata":{"name":"a"}})"},
        {"a text that looks so", R"({"metadata":{"annotations":{"a":"\"managedFields\":[]"}}})",
         R"({"metadata":{"annotations":{"a":"\"managedFields\":[]"}}})"},
        {"of a template", R"({"metadata":{"name":"a"},"spec":{"metadata":{"managedFields":[]}}})",
         R"({"metadata":{"name":"a"},"spec":{"metadata":{"managedFields":[]}}})"},
        {"after another object", R"({"spec":{},"metadata":{"managedFields":[]}})", R"({"spec":{},"metadata":{"managedFields":[]}})"},
        {"with spaces", R"({"metadata": {"managedFields": []}})", R"({"metadata": {"managedFields": []}})"},
        {"cut off", R"({"metadata":{"managedFields":[)", R"({"metadata":{"managedFields":[)"},
        {"not in an object", R"("metadata":{"managedFields":[1]})", R"("metadata":{"managedFields":[1]})"},
        {"nothing", "", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        std::string room;
        EXPECT_EQ(without_managed_fields(row.object, room), row.expected);
    }
}

}  // namespace
}  // namespace porthole::client
