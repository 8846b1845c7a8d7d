#include "apiserver/outgoing/config_object.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

struct ConfigObjectTest : testing::Test {
    /// The text of all problems after reading `text` as `read` does, "" for none.
    template <class Read>
    static std::string problems_of(const char* text, Read read) {
        const auto value = schema::parse_json(text);
        EXPECT_TRUE(value);
        ConfigProblems problems;
        ConfigObject root(*value, "", problems);
        read(root);
        root.finish();
        const auto outcome = problems.outcome("file");
        return outcome ? "" : outcome.error().message;
    }
};

TEST_F(ConfigObjectTest, ReadsFieldsAndTheirFallbacks) {
    EXPECT_EQ(problems_of(R"({"a":"x","b":true,"c":7,"d":"1m30s","e":["p","q"],"f":{"g":"y"},"h":[{"g":"z"}],"n":null})",
                          [](ConfigObject& root) {
                              EXPECT_EQ(root.text("a"), "x");
                              EXPECT_TRUE(root.flag("b"));
                              EXPECT_EQ(root.integer("c"), 7);
                              EXPECT_EQ(root.duration("d", 1s), 90s);
                              EXPECT_EQ(root.texts("e"), (std::vector<std::string>{"p", "q"}));
                              EXPECT_EQ(root.object("f").text("g"), "y");
                              EXPECT_EQ(root.objects("h").at(0).text("g"), "z");
                              EXPECT_EQ(root.text("n", "fallback"), "fallback");
                              EXPECT_FALSE(root.has("n"));
                              EXPECT_EQ(root.duration("missing", 5s), 5s);
                          }),
              "");
}

TEST_F(ConfigObjectTest, NamesEveryFieldThatNobodyReads) {
    EXPECT_EQ(problems_of(R"({"a":{"typo":1},"other":2})",
                          [](ConfigObject& root) {
                              ConfigObject inner = root.object("a");
                              inner.finish();
                          }),
              R"(file: [unknown field "a.typo", unknown field "other"])");
}

TEST_F(ConfigObjectTest, RefusesOtherTypes) {
    const struct {
        const char* name;
        const char* text;
        void (*read)(ConfigObject&);
        const char* problem;
    } rows[] = {
        {"text", R"({"a":1})", [](ConfigObject& root) { (void)root.text("a"); }, "file: a: expected string, got number"},
        {"flag", R"({"a":"true"})", [](ConfigObject& root) { (void)root.flag("a"); }, "file: a: expected bool, got string"},
        {"integer", R"({"a":1.5})", [](ConfigObject& root) { (void)root.integer("a"); }, "file: a: expected whole number, got number"},
        {"object", R"({"a":[]})", [](ConfigObject& root) { (void)root.object("a"); }, "file: a: expected object, got array"},
        {"list", R"({"a":{}})", [](ConfigObject& root) { (void)root.objects("a"); }, "file: a: expected list, got object"},
        {"item", R"({"a":["x",1]})", [](ConfigObject& root) { (void)root.texts("a"); }, "file: a[1]: expected string, got number"},
        {"objects", R"({"a":[1]})", [](ConfigObject& root) { (void)root.objects("a"); }, "file: a[0]: expected object, got number"},
        {"duration", R"({"a":"5"})", [](ConfigObject& root) { (void)root.duration("a", 1s); },
         "file: a: time: missing unit in duration \"5\""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(problems_of(row.text, row.read), row.problem);
    }
}

TEST(ParseConfig, TakesOnlyTheVersionsAndTheKindAskedFor) {
    const auto parse = [](const char* text) {
        auto parsed = parse_config(text, "file", {"g/v1", "g/v1beta1"}, "K");
        return parsed ? schema::to_json(*parsed) : parsed.error().message;
    };
    EXPECT_EQ(parse("apiVersion: g/v1\nkind: K\na: 1\n"), R"({"a":1})");
    EXPECT_EQ(parse("apiVersion: g/v1beta1\nkind: K\n"), "{}");
    EXPECT_EQ(parse("apiVersion: g/v2\nkind: K\n"), R"(file: apiVersion "g/v2" with kind "K" is not g/v1 with kind K)");
    EXPECT_EQ(parse("apiVersion: g/v1\nkind: K\na: 1\na: 2\n"), R"(file: duplicate field "a")");
    EXPECT_EQ(parse("- 1\n"), "file: is not an object");
    EXPECT_NE(parse("a: [\n").find("file: "), std::string::npos);
}

}  // namespace
}  // namespace porthole::apiserver
