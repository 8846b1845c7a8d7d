#include "schema/patch/patch.h"

#include <gtest/gtest.h>

#include "api/registry.h"
#include "schema/json/json.h"

namespace porthole::schema {
namespace {

Value tree(std::string_view text) {
    auto value = parse_json(text);
    CHECK(value.has_value());
    return std::move(*value);
}

/// The patched object, or "REASON message".
std::string patched(PatchType type, std::string_view kind, std::string_view current, std::string_view patch) {
    const GroupVersion version = kind == "Deployment" ? GroupVersion{"apps", "v1"} : GroupVersion{"", "v1"};
    const Kind* found = api::registry().find_kind(version.group, version.version, kind);
    CHECK(found);
    const Result<Value> result = apply_patch(type, *found, tree(current), tree(patch));
    return result ? to_json(*result) : std::string(to_string(result.error().reason)) + " " + result.error().message;
}

struct Row {
    const char* name;
    const char* current;
    const char* patch;
    const char* expected;
};

TEST(JsonPatch, DoesNotNestDeeperThanReadersRead) {
    const auto deep = [](int levels) {
        std::string text;
        for (int i = 0; i < levels; ++i) text += R"({"a":)";
        return text + "1" + std::string(static_cast<std::size_t>(levels), '}');
    };
    const auto pointer = [](int levels) {
        std::string text;
        for (int i = 0; i < levels; ++i) text += "/a";
        return text;
    };
    const std::string refused = "Invalid the server rejected our request due to an error in our request: ";
    const auto add = [&](int at, int levels) { return R"({"op":"add","path":"/x)" + pointer(at) + R"(","value":)" + deep(levels) + "}"; };
    const auto result = [](const std::string& operations) { return patched(PatchType::Json, "Pod", "{}", "[" + operations + "]"); };

    EXPECT_TRUE(result(add(0, 500)).starts_with(R"({"x":{"a":)"));
    EXPECT_TRUE(result(add(0, 500) + "," + add(500, 11)).starts_with(R"({"x":{"a":)"));
    EXPECT_EQ(result(add(0, 500) + "," + add(500, 100)), refused + "add operation does not apply: the result is nested too deeply");
    const std::string copies = R"({"op":"copy","from":"/x","path":"/x)" + pointer(300) + R"("})";
    EXPECT_EQ(result(add(0, 300) + "," + copies + "," + copies), refused + "add operation does not apply: the result is nested too deeply");
    const std::string far = std::string(1'000'000, '/');
    EXPECT_EQ(result(R"({"op":"remove","path":")" + far + R"("})"), refused + "invalid path: it has more than 512 steps");
}

TEST(JsonPatch, TakesLinearTime) {
    constexpr int Members = 20'000, Operations = 5'000;
    std::string object = "{", list = "[", removals, front;
    for (int i = 0; i < Members; ++i) {
        object += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
        list += i ? ",1" : "1";
    }
    for (int i = 0; i < Operations; ++i) {
        removals += R"(,{"op":"remove","path":"/x/k)" + std::to_string(i) + R"("})";
        front += R"(,{"op":"remove","path":"/x/0"})";
    }
    const std::string large = R"([{"op":"add","path":"/x","value":)" + object + "}}";
    const std::string left = patched(PatchType::Json, "Pod", "{}", large + removals + "]");
    EXPECT_FALSE(left.contains("\"k4999\"")) << left.substr(0, 200);
    EXPECT_TRUE(left.contains("\"k5000\""));
    const std::string too_much = patched(PatchType::Json, "Pod", "{}", R"([{"op":"add","path":"/x","value":)" + list + "]}" + front + "]");
    EXPECT_TRUE(too_much.ends_with("the patch asks for too much work")) << too_much.substr(0, 200);
}

TEST(JsonPatch, Operations) {
    const std::string refused = "Invalid the server rejected our request due to an error in our request: ";
    const Row rows[] = {
        {"add a member", R"({"a":1})", R"([{"op":"add","path":"/b","value":{"c":2}}])", R"({"a":1,"b":{"c":2}})"},
        {"add to a list", R"({"a":[1,2]})", R"([{"op":"add","path":"/a/1","value":9},{"op":"add","path":"/a/-","value":8}])",
         R"({"a":[1,9,2,8]})"},
        {"add replaces a member", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
        {"replace makes a member", R"({"a":{}})", R"([{"op":"replace","path":"/a/b","value":{"c":1}}])", R"({"a":{"b":{"c":1}}})"},
        {"escapes", R"({"a/b":{"c~d":1}})", R"([{"op":"replace","path":"/a~1b/c~0d","value":2}])", R"({"a/b":{"c~d":2}})"},
        {"remove", R"({"a":[1,2],"b":3})", R"([{"op":"remove","path":"/a/0"},{"op":"remove","path":"/b"}])", R"({"a":[2]})"},
        {"move", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
        {"copy", R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"},{"op":"replace","path":"/c/b","value":2}])",
         R"({"a":{"b":1},"c":{"b":2}})"},
        {"test holds", R"({"a":{"x":1,"y":2}})", R"([{"op":"test","path":"/a","value":{"y":2,"x":1}},{"op":"remove","path":"/a"}])", "{}"},
        {"test of nothing", R"({})", R"([{"op":"test","path":"/a","value":null}])", "{}"},
        {"the whole document", R"({"a":1})", R"([{"op":"replace","path":"","value":{"b":2}}])", R"({"b":2})"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(patched(PatchType::Json, "Pod", row.current, row.patch), row.expected);
    }
    const Row failures[] = {
        {"test fails", R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "testing value /a failed: test failed"},
        {"add without a parent", R"({})", R"([{"op":"add","path":"/a/b","value":1}])",
         R"(add operation does not apply: doc is missing path: "/a/b": missing value)"},
        {"replace without a parent", R"({})", R"([{"op":"replace","path":"/a/b","value":1}])",
         R"(replace operation does not apply: doc is missing path: "/a/b": missing value)"},
        {"replace beyond the end", R"({"a":[1]})", R"([{"op":"replace","path":"/a/1","value":1}])",
         R"(replace operation does not apply: doc is missing path: "/a/1": missing value)"},
        {"remove nothing", R"({})", R"([{"op":"remove","path":"/a"}])",
         "remove operation does not apply: Unable to remove nonexistent key: a: missing value"},
        {"beyond the end", R"({"a":[1]})", R"([{"op":"add","path":"/a/3","value":1}])",
         "add operation does not apply: Unable to access invalid index: 3"},
        {"leading zero", R"({"a":[1]})", R"([{"op":"remove","path":"/a/00"}])",
         "remove operation does not apply: Unable to access invalid index: 00"},
        {"into itself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
         "move operation does not apply: a value cannot be moved into itself"},
        {"unknown", R"({})", R"([{"op":"frob","path":"/a"}])", "Unexpected kind: frob"},
    };
    for (const Row& row : failures) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(patched(PatchType::Json, "Pod", row.current, row.patch), refused + row.expected);
    }
}

TEST(JsonPatch, IsBounded) {
    EXPECT_TRUE(patched(PatchType::Json, "Pod", "{}", "{}").starts_with("BadRequest error decoding patch"));
    Array many(10'001, tree(R"({"op":"test","path":"/a","value":null})"));
    const Result<Value> result = apply_patch(PatchType::Json, *api::registry().find_kind("v1", "Pod"), Value::object(), many);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::RequestEntityTooLarge);
    EXPECT_EQ(result.error().message, "The allowed maximum operations in a JSON patch is 10000, got 10001");
    // Doubling thirty times would make a gigabyte of 64 bytes.
    Array bomb;
    for (int i = 0; i < 30; ++i) bomb.push_back(tree(R"({"op":"copy","from":"/a","path":"/a/-"})"));
    const Value current = Value::object({{"a", Value::array({std::string(64, 'x')})}});
    EXPECT_FALSE(apply_patch(PatchType::Json, *api::registry().find_kind("v1", "Pod"), current, bomb));
}

TEST(MergePatch, FollowsRfc7386) {
    const Row rows[] = {
        {"replace", R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        {"remove", R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        {"lists are replaced", R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
        {"deep", R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        {"nulls of what is new", R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
        {"scalar to object", R"({"a":"b"})", R"({"a":{"c":1}})", R"({"a":{"c":1}})"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(patched(PatchType::Merge, "Pod", row.current, row.patch), row.expected);
    }
    EXPECT_TRUE(patched(PatchType::Merge, "Pod", "{}", "[]").starts_with("BadRequest"));
}

TEST(StrategicPatch, MergesByTheSchema) {
    const Row rows[] = {
        {"containers merge by name", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
         R"({"spec":{"containers":[{"name":"b","image":"2"},{"name":"c","image":"3"}]}})",
         R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"},{"name":"c","image":"3"}]}})"},
        {"new items go before those that the patch does not name", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"containers":[{"name":"c"},{"name":"b","image":"2"}]}})",
         R"({"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"b","image":"2"}]}})"},
        {"an item is deleted", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
        {"a list is replaced", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})", R"({"spec":{"containers":[{"name":"c"}]}})"},
        {"an object is replaced", R"({"spec":{"securityContext":{"runAsUser":1,"runAsGroup":2}}})",
         R"({"spec":{"securityContext":{"$patch":"replace","runAsUser":3}}})", R"({"spec":{"securityContext":{"runAsUser":3}}})"},
        {"an object is emptied", R"({"spec":{"securityContext":{"runAsUser":1}}})", R"({"spec":{"securityContext":{"$patch":"delete"}}})",
         R"({"spec":{"securityContext":{}}})"},
        {"null removes", R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"metadata":{"labels":{"a":null}}})",
         R"({"metadata":{"labels":{"b":"2"}}})"},
        {"atomic lists are replaced", R"({"spec":{"containers":[{"name":"a","args":["x","y"]}]}})",
         R"({"spec":{"containers":[{"name":"a","args":["z"]}]}})", R"({"spec":{"containers":[{"name":"a","args":["z"]}]}})"},
        {"finalizers merge as a set", R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["b","c"]}})",
         R"({"metadata":{"finalizers":["a","b","c"]}})"},
        {"values are taken from a set", R"({"metadata":{"finalizers":["a","b","c"]}})",
         R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["c","b"]}})",
         R"({"metadata":{"finalizers":["c","b"]}})"},
        {"order is set, and others stay near", R"({"spec":{"containers":[{"name":"server"},{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"a","image":"2"}]}})",
         R"({"spec":{"containers":[{"name":"server"},{"name":"b"},{"name":"a","image":"2"}]}})"},
        {"order alone", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
         R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})",
         R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
        {"keys not retained go", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
         R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/x"}}]}})",
         R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})"},
        {"new lists have no directives", R"({"spec":{}})",
         R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a","env":null},{"$patch":"delete","name":"b"}]}})",
         R"({"spec":{"containers":[{"name":"a"}]}})"},
        {"unknown members merge as JSON does", R"({"spec":{"x":{"a":[1]}}})", R"({"spec":{"x":{"a":[2],"b":null}}})",
         R"({"spec":{"x":{"a":[2]}}})"},
        {"nested merge keys", R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"w"}]}]}})",
         R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"x"},{"containerPort":81}]}]}})",
         R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"x"},{"containerPort":81}]}]}})"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(patched(PatchType::Strategic, "Pod", row.current, row.patch), row.expected);
    }
}

TEST(StrategicPatch, TakesLinearTime) {
    constexpr int Items = 30'000;
    std::string texts, containers, removals, order;
    for (int i = 0; i < Items; ++i) {
        const std::string comma = i ? "," : "", number = std::to_string(i);
        texts += comma + "\"f" + number + '"';
        containers += comma + R"({"name":"c)" + number + R"("})";
        removals += comma + R"({"$patch":"delete","name":"c)" + number + R"("})";
    }
    const std::string current = R"({"metadata":{"finalizers":[)" + texts + R"(]},"spec":{"containers":[)" + containers + "]}}";
    const auto patch = [&](const std::string& metadata, const std::string& spec) {
        return patched(PatchType::Strategic, "Pod", current, R"({"metadata":{)" + metadata + R"(},"spec":{)" + spec + "}}");
    };
    EXPECT_EQ(patch(R"("finalizers":[)" + texts + R"(],"$setElementOrder/finalizers":[)" + texts + "]",
                    R"("containers":[)" + containers + R"(],"$setElementOrder/containers":[)" + containers + "]"),
              current);
    EXPECT_EQ(patch(R"("$deleteFromPrimitiveList/finalizers":[)" + texts + "]", R"("containers":[)" + removals + "]"),
              R"({"metadata":{"finalizers":[]},"spec":{"containers":[]}})");
}

TEST(StrategicPatch, AnItemCanBeDeletedAndAddedAgain) {
    EXPECT_EQ(patched(PatchType::Strategic, "Pod", R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b"}]}})",
                      R"({"spec":{"containers":[{"$patch":"delete","name":"a"},{"name":"a","tty":true},{"name":"a","stdin":true}]}})"),
              R"({"spec":{"containers":[{"name":"a","tty":true,"stdin":true},{"name":"b"}]}})");
}

TEST(StrategicPatch, RefusesBadDirectives) {
    const Row rows[] = {
        {"no merge key", R"({"spec":{"containers":[]}})", R"({"spec":{"containers":[{"image":"x"}]}})",
         R"(BadRequest map: {"image":"x"} does not contain declared merge key: name)"},
        {"unknown directive", "{}", R"({"spec":{"$patch":"frob"}})", "BadRequest unknown patch type found: frob"},
        {"merging a list", R"({"spec":{"containers":[]}})", R"({"spec":{"containers":[{"$patch":"merge","name":"a"}]}})",
         "BadRequest merging lists cannot yet be specified in the patch"},
        {"order without the item", R"({"spec":{"containers":[]}})",
         R"({"spec":{"$setElementOrder/containers":[{"name":"b"}],"containers":[{"name":"a"}]}})",
         "BadRequest invalid patch format of setElementOrder list"},
        {"a text that another item of the patch put there", R"({"spec":{"containers":[]}})",
         R"({"spec":{"containers":[{"name":"x","ports":[{"$patch":"replace"},"s"]},{"name":"x","ports":[{"containerPort":null,"protocol":"TCP"}]}]}})",
         R"(BadRequest a list merged by the key "containerPort" has objects only)"},
        {"sets a key it does not retain", "{}", R"({"spec":{"$retainKeys":["a"],"b":1}})", "BadRequest invalid patch format of retainKeys"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(patched(PatchType::Strategic, "Pod", row.current, row.patch), row.expected);
    }
}

TEST(StrategicPatch, IsNotForCustomResources) {
    static constexpr Type type{.name = "Thing"};
    static constexpr Kind kind{.group = "example.com", .version = "v1", .kind = "Thing", .type = &type};
    const Result<Value> result = apply_patch(PatchType::Strategic, kind, Value::object(), Value::object());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::UnsupportedMediaType);
}

TEST(PatchType, IsKnownByItsMediaType) {
    EXPECT_EQ(parse_patch_type("application/strategic-merge-patch+json"), PatchType::Strategic);
    EXPECT_EQ(parse_patch_type("application/apply-patch+yaml"), PatchType::Apply);
    EXPECT_EQ(parse_patch_type("application/json"), std::nullopt);
}

}  // namespace
}  // namespace porthole::schema
