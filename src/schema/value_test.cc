#include "schema/value.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"
#include "schema/json/json_parts.h"

namespace porthole::schema {
namespace {

TEST(Value, ComparesObjectsWithoutOrder) {
    EXPECT_EQ(*parse_json(R"({"a":1,"b":[1,2]})"), *parse_json(R"({"b":[1,2],"a":1.0})"));
    EXPECT_FALSE(*parse_json("[1,2]") == *parse_json("[2,1]"));
    EXPECT_FALSE(*parse_json(R"({"a":1})") == *parse_json(R"({"a":1,"b":null})"));
    EXPECT_FALSE(Value(true) == Value(1));
}

TEST(Value, KeepsOrderAndFindsInLargeObjects) {
    Object object;
    for (int i = 0; i < 1000; ++i) object["key" + std::to_string(i)] = i;
    EXPECT_EQ(object.find("key517")->as_int(), 517);
    EXPECT_TRUE(object.erase("key517"));
    EXPECT_FALSE(object.erase("key517"));
    EXPECT_EQ(object.find("key517"), nullptr);
    EXPECT_EQ(object.erase_if([](const Member& member) { return member.value.as_int() % 2 == 0; }), 500u);
    EXPECT_EQ(object.find("key516"), nullptr);
    EXPECT_EQ(object.find("key999")->as_int(), 999);
    EXPECT_EQ(object.begin()->key, "key1");
    const Object copy = object;
    EXPECT_EQ(copy, object);
    EXPECT_EQ(copy.find("key3")->as_int(), 3);
}

TEST(Value, StillFindsTheRestWhenMembersOfALargeObjectAreErased) {
    Object object;
    for (int i = 0; i < 5'000; ++i) object[std::to_string(i)] = i;
    for (int i = 0; i < 5'000; i += 3) {
        EXPECT_TRUE(object.erase(std::to_string(i)));
        EXPECT_FALSE(object.erase(std::to_string(i)));
    }
    for (int i = 0; i < 5'000; ++i) {
        const Value* found = object.find(std::to_string(i));
        ASSERT_EQ(found != nullptr, i % 3 != 0) << i;
        if (found) {
            ASSERT_EQ(found->as_int(), i);
        }
    }
    object["new"] = true;
    EXPECT_EQ(object.size(), 3334u);
    EXPECT_TRUE(object.contains("new"));
    while (!object.empty()) ASSERT_TRUE(object.erase(std::string(object.begin()->key)));
}

TEST(Value, ReachesBelow) {
    Value value;
    value.ensure_path({"spec", "replicas"}) = 3;
    EXPECT_EQ(value.at_path({"spec", "replicas"})->as_int(), 3);
    EXPECT_EQ(value.at_path({"spec", "x", "y"}), nullptr);
    EXPECT_EQ(value.string_at({"spec", "replicas"}), "");
    EXPECT_TRUE(at(value, "none").is_null());
}

TEST(Json, RefusesWhatIsNoJson) {
    for (const char* text :
         {"", "{", "[1,]", "{\"a\":1,}", "nul", "01", "\"\x01\"", "\"\\x\"", "{\"a\" 1}", "1 2", "\"\xff\"", "// x\n1", "NaN", "1e999"})
        EXPECT_TRUE(!parse_json(text) && !check_json(text)) << text;
    EXPECT_FALSE(parse_json(std::string(1000, '[') + std::string(1000, ']')));
    EXPECT_TRUE(parse_json(std::string(500, '[') + std::string(500, ']')));
    EXPECT_EQ(parse_json("{\"a\":").error().message, "unexpected end of JSON input");
}

TEST(Json, IsCheckedWithoutATree) {
    for (const char* text : {"{}", "[1,2.5,-3e4,true,null,\"a\\n\"]", " 1 ", "1e308", "18446744073709551616"})
        EXPECT_TRUE(check_json(text)) << text;
    EXPECT_FALSE(check_json("[[[]]]", {.depth = 2}));
}

TEST(Json, PartsOfAnObjectAreThoseOfItsTree) {
    const std::string text =
        R"({"kind":"A","metadata":{"name":"a","labels":{"x.y/z":"1","b":"2"},"uid":"u"},"spec":{"n":[1,{"name":"c"}]}})";
    const Value tree = *parse_json(text);
    const Value parts = *parse_json_parts(text, {"kind", "metadata.name", "metadata.labels", "spec.absent.name", "absent"});
    EXPECT_EQ(to_json(parts), R"({"kind":"A","metadata":{"name":"a","labels":{"x.y/z":"1","b":"2"}},"spec":{}})");
    EXPECT_EQ(*parse_json_parts(text, {"spec", "spec.n"}), *parse_json(R"({"spec":{"n":[1,{"name":"c"}]}})"));
    EXPECT_EQ(*parse_json_parts(R"({"a":{"b":1},"a":{"c":2}})", {"a.b"}), *parse_json(R"({"a":{}})")) << "the last one counts";
    EXPECT_EQ(*parse_json_parts(R"({"\u0061":{"\u0062":1}})", {"a.b"}), *parse_json(R"({"a":{"b":1}})"));
    EXPECT_EQ(*parse_json_parts(R"({"a":5})", {"a.b"}), *parse_json(R"({"a":5})"));
    for (const char* bad : {"", "[]", "5", "{", "{1:2}", R"({"a":})", R"({"a":1)", R"({"a":nul})"})
        EXPECT_FALSE(parse_json_parts(bad, {"a"})) << bad;
}

TEST(Json, KeepsNumbersAndText) {
    struct {
        const char* in;
        const char* out;
    } const rows[] = {
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"18446744073709551615", "18446744073709551616"},
        {"1.5", "1.5"},
        {"1e2", "100"},
        {"1e30", "1e+30"},
        {"0.1", "0.1"},
        {"1e-999", "0"},
        {"2075509572970253412112", "2.0755095729702534e+21"},
        {R"("\u00e4\ud83d\udc0b\/\n")", "\"\xC3\xA4\xF0\x9F\x90\x8B/\\n\""},
        {" [ ] ", "[]"},
    };
    for (const auto& row : rows) {
        const auto value = parse_json(row.in);
        ASSERT_TRUE(value) << row.in;
        EXPECT_EQ(to_json(*value), row.out);
    }
    EXPECT_EQ(to_json(Value("a\xff\x01z")), "\"a\xEF\xBF\xBD\\u0001z\"") << "what is no UTF-8 is replaced";
}

TEST(Json, EscapesWhereverACharacterStands) {
    const struct {
        const char* name;
        std::string character, written;
    } rows[] = {{"quote", "\"", "\\\""},
                {"backslash", "\\", "\\\\"},
                {"line break", "\n", "\\n"},
                {"lowest", std::string(1, '\0'), "\\u0000"},
                {"below space", "\x1f", "\\u001f"},
                {"space", " ", " "},
                {"last of ASCII", "\x7f", "\x7f"},
                {"two bytes", "\u00e9", "\u00e9"}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        for (const std::size_t length : {0, 3, 7, 8, 24}) {
            for (std::size_t at = 0; at <= length; ++at) {
                std::string text(length, 'x'), expected(length, 'x');
                text.insert(at, row.character);
                expected.insert(at, row.written);
                std::string out;
                append_json_string(text, out);
                EXPECT_EQ(out, '"' + expected + '"') << length << " " << at;
            }
        }
    }
}

TEST(Json, PrintsWithLineBreaks) {
    EXPECT_EQ(to_pretty_json(*parse_json(R"({"a":[1,{"b":{}}],"c":[]})")),
              "{\n    \"a\": [\n        1,\n        {\n            \"b\": {}\n        }\n    ],\n    \"c\": []\n}");
}

}  // namespace
}  // namespace porthole::schema
