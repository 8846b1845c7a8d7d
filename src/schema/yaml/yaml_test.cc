#include "schema/yaml/yaml.h"
#include "schema/yaml/yaml_outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::schema {
namespace {

std::string json_of(std::string_view yaml) {
    const auto value = parse_yaml(yaml);
    return value ? to_json(*value) : value.error().message;
}

TEST(Yaml, ReadsScalarsAsKubernetesDoes) {
    struct {
        const char* yaml;
        const char* json;
    } const rows[] = {
        {"a: yes", R"({"a":true})"},
        {"a: 'yes'", R"({"a":"yes"})"},
        {"a: off", R"({"a":false})"},
        {"a: \"1\"", R"({"a":"1"})"},
        {"a: 0755", R"({"a":493})"},
        {"a: 0x1F", R"({"a":31})"},
        {"a: 1_000", R"({"a":1000})"},
        {"a: 1e3", R"({"a":1000})"},
        {"a: 1.5", R"({"a":1.5})"},
        {"a: 089", R"({"a":89})"},
        {"a: ~", R"({"a":null})"},
        {"a:", R"({"a":null})"},
        {"a: 1.2.3", R"({"a":"1.2.3"})"},
        {"a: 100m", R"({"a":"100m"})"},
        {"a: -5", R"({"a":-5})"},
        {"a: 12:30", R"({"a":"12:30"})"},
        {"a: 2024-01-02T03:04:05Z", R"({"a":"2024-01-02T03:04:05Z"})"},
        {"8080: x", R"({"8080":"x"})"},
        {"true: x", R"({"true":"x"})"},
        {"a: !!str 5", R"({"a":"5"})"},
        {"a: !!binary aGk=", R"({"a":"hi"})"},
        {"a: <none>", R"({"a":"<none>"})"},
        {"a: \"x\\ty\"", R"({"a":"x\ty"})"},
        {"a: |\n  l1\n  l2\n", R"({"a":"l1\nl2\n"})"},
        {"a: >-\n  l1\n  l2\n", R"({"a":"l1 l2"})"},
    };
    for (const auto& row : rows) EXPECT_EQ(json_of(row.yaml), row.json) << row.yaml;
}

TEST(Yaml, ExpandsAnchorsAndMergesKeys) {
    EXPECT_EQ(json_of("base: &b {x: 1, z: 2}\nlist: [*b]\nc:\n  <<: *b\n  z: 3\n"),
              R"({"base":{"x":1,"z":2},"list":[{"x":1,"z":2}],"c":{"z":3,"x":1}})");
}

TEST(Yaml, RefusesAnAliasBomb) {
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int k = 0; k < 8; ++k) bomb += "," + before;
        bomb += "]\n";
    }
    EXPECT_EQ(json_of(bomb), "error converting YAML to JSON: yaml: document contains excessive aliasing");
}

TEST(Yaml, RefusesAnAliasBombOfOneLongText) {
    std::string text = "a: &a \"" + std::string(1'000'000, 'x') + "\"\nb: [*a";
    for (int i = 0; i < 100; ++i) text += ", *a";
    EXPECT_EQ(parse_yaml(text + "]").error().message, "error converting YAML to JSON: yaml: document contains excessive aliasing");
    std::string nested;
    for (int i = 0; i < 100; ++i) nested += "&a" + std::to_string(i) + " [";
    nested += '"' + std::string(1'000'000, 'x') + '"' + std::string(100, ']');
    EXPECT_FALSE(parse_yaml(nested)) << "anchors within anchors are copies, too";
    EXPECT_TRUE(parse_yaml("a: &a \"" + std::string(1'000'000, 'x') + "\"\nb: [*a, *a]"));
}

TEST(Yaml, SaysWhereItIsWrong) {
    EXPECT_EQ(json_of("a: b: c"), "error converting YAML to JSON: yaml: mapping values are not allowed in this context");
    EXPECT_EQ(json_of("a:\n  b: 1\n c: 2\n"), "error converting YAML to JSON: yaml: line 2: did not find expected key");
    EXPECT_EQ(json_of("a: *x"), "error converting YAML to JSON: yaml: unknown anchor 'x' referenced");
    EXPECT_EQ(json_of(std::string(2000, '[')), "error converting YAML to JSON: yaml: exceeded max depth");
}

TEST(Yaml, TellsKeysThatComeTwice) {
    std::vector<DuplicateKey> duplicates;
    const auto value = parse_yaml("spec:\n  a: 1\n  a: 2\n  l:\n  - b: 1\n    b: 2\n", &duplicates);
    ASSERT_TRUE(value);
    ASSERT_EQ(duplicates.size(), 2u);
    EXPECT_EQ(duplicates[0].path, "spec.a");
    EXPECT_EQ(duplicates[0].line, 3u);
    EXPECT_EQ(duplicates[1].path, "spec.l[0].b");
    EXPECT_EQ(duplicates[1].key, "b");
    EXPECT_EQ(duplicates[1].line, 6u);
    EXPECT_EQ(to_json(*value), R"({"spec":{"a":2,"l":[{"b":2}]}})");
}

TEST(Yaml, ReadsSeveralDocumentsAndSkipsEmptyOnes) {
    const auto documents = parse_yaml_documents("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n");
    ASSERT_TRUE(documents) << documents.error().message;
    ASSERT_EQ(documents->size(), 2u);
    EXPECT_EQ(to_json((*documents)[1]), R"({"b":2})");
}

TEST(Yaml, WritesWhatItReadsBack) {
    const Value value =
        *parse_json(R"({"a":"yes","b":"0755","c":["x",{"d":1,"e":[]},[1,2]],"f":{},"g":"l1\nl2\n","h":"no end\nhere","i":"a: b","j":"- x",
        "k":"","l":null,"m":1.5,"n":"2024-01-02T03:04:05Z","o":"#x","p":"tab\there","q":"~","r":"1e3","s":"l1\n\n","t":" lead\nx","u":"100m","v":"true",
        "w":"=","x":"12:30","y":"\u00e4","z":"%a","nested":{"list":[{"name":"c","args":["-v","--x=1"]}],"text":"a\nb"}})");
    const std::string text = to_yaml(value);
    const auto again = parse_yaml(text);
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_EQ(*again, value) << text;
}

TEST(Yaml, LooksAsKubectlWritesIt) {
    EXPECT_EQ(to_yaml(*parse_json(R"({"kind":"Pod","spec":{"containers":[{"name":"c","args":["a"]}]},"status":{}})")),
              "kind: Pod\nspec:\n  containers:\n  - name: c\n    args:\n    - a\nstatus: {}\n");
}

std::string_view piece(std::string_view text, const YamlSpan& span) { return text.substr(span.begin, span.end - span.begin); }

TEST(YamlOutline, SaysWhereKeysAndValuesAre) {
    const std::string text =
        "# é\n"
        "a: 'ü'  # note\n"
        "list:\n"
        "- name: x\n"
        "  deep: {k: [1, 2], l: \"m\"}\n"
        "\n"
        "# about text\n"
        "text: |\n"
        "  one\n"
        "  two\n"
        "\n"
        "none:\n"
        "last: 1\n"
        "---\n"
        "# nothing\n"
        "---\n"
        "b: 2\n";
    const auto documents = outline_yaml(text);
    ASSERT_TRUE(documents) << documents.error().message;
    ASSERT_EQ(documents->size(), 2u) << "empty documents are left out";
    const YamlNode& root = documents->front();
    const YamlNode* a = root.find("a");
    EXPECT_EQ(piece(text, a->key), "a");
    EXPECT_EQ(piece(text, a->span), "'ü'");
    EXPECT_EQ(a->span.line, 2u);
    EXPECT_EQ(a->span.column, 4u);
    const YamlNode* item = root.find("list")->find("0");
    EXPECT_EQ(piece(text, item->span), "name: x\n  deep: {k: [1, 2], l: \"m\"}");
    EXPECT_EQ(piece(text, item->find("deep")->find("k")->span), "[1, 2]");
    EXPECT_TRUE(item->find("deep")->flow);
    EXPECT_EQ(piece(text, root.find("text")->span), "|\n  one\n  two");
    EXPECT_EQ(piece(text, root.find("none")->span), "");
    EXPECT_EQ(root.find("none")->span.begin, root.find("none")->key.end);
    EXPECT_EQ(root.find("last")->key.line, 13u);
    EXPECT_EQ(documents->back().find("b")->key.line, 17u);
    EXPECT_EQ(root.find("list")->find("1"), nullptr);
    EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(YamlOutline, DoesNotLookThroughAliases) {
    const std::string text = "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  k: 2\n";
    const auto documents = outline_yaml(text);
    ASSERT_TRUE(documents);
    const YamlNode& root = documents->front();
    EXPECT_TRUE(root.find("a")->anchored);
    EXPECT_EQ(root.find("b")->kind, YamlNode::Kind::Alias);
    EXPECT_EQ(root.find("b")->find("k"), nullptr);
    EXPECT_EQ(piece(text, root.find("c")->find("k")->span), "2");
    EXPECT_FALSE(outline_yaml("a: [1"));
    EXPECT_FALSE(outline_yaml("a: [[[[1]]]]", {.depth = 3}));
}

}  // namespace
}  // namespace porthole::schema
