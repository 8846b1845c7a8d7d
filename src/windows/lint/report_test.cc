#include "windows/lint/report.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/json/json.h"
#include "schema/yaml/yaml.h"
#include "windows/lint/fix.h"
#include "windows/support.h"

namespace porthole::windows::lint {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* Text =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: windows}\n"
    "  hostPID: true\n";

std::vector<FileReport> reports(const std::string& text = Text) { return {{"pod.yaml", text, "", check(text).value()}}; }

TEST(WindowsReport, TextShowsTheLineAndTheRemedy) {
    EXPECT_EQ(to_report(reports(), Format::Text),
              "refused[WIN102]: spec.hostPID: processes of a Windows host cannot be shared with pods\n"
              "  --> pod.yaml:7:3 (Pod a)\n"
              "   |\n"
              " 7 |   hostPID: true\n"
              "   |   ^^^^^^^^^^^^^\n"
              "   = remedy: remove it (--fix does)\n"
              "   = for Windows: spec.os.name is windows\n"
              "\n"
              "1 object in 1 file: 1 refused, 0 ignored, 0 advice; --fix removes 1\n");
    EXPECT_THAT(to_report(reports(), Format::Text, true), HasSubstr("\033[1;31mrefused[WIN102]"));
}

TEST(WindowsReport, LongLinesAreShownAroundTheMark) {
    const std::string text = R"({"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"a":")" + std::string(500, 'x') +
                             R"("}},"spec":{"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"hostPID":true}})";
    const std::string shown = to_report(reports(text), Format::Text);
    EXPECT_THAT(shown, HasSubstr("\"hostPID\":true"));
    EXPECT_THAT(shown, Not(HasSubstr(std::string(200, 'x'))));
}

TEST(WindowsReport, ManifestsDoNotControlTheTerminal) {
    const std::string text =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: \"\\e[2Ja\\x9b\"}\nspec:\n  os: {name: windows}\n  nodeSelector: {kubernetes.io/os: "
        "windows}\n"
        "  hostPID: true\n";
    const std::string shown = to_report(reports(text), Format::Text);
    EXPECT_THAT(shown, HasSubstr("(Pod ?[2Ja?)"));
    EXPECT_THAT(shown, Not(HasSubstr("\033")));
}

TEST(WindowsReport, YamlSaysWhatJsonSays) {
    const auto json = schema::parse_json(to_report(reports(), Format::Json));
    const auto yaml = schema::parse_yaml(to_report(reports(), Format::Yaml));
    ASSERT_TRUE(json && yaml);
    EXPECT_EQ(*yaml, *json);
    EXPECT_EQ(format_of("yaml"), Format::Yaml);
}

TEST(WindowsReport, JsonAndSarifAreJson) {
    const auto json = schema::parse_json(to_report(reports(), Format::Json));
    ASSERT_TRUE(json);
    const schema::Value& problem = json->find("problems")->as_array().at(0);
    EXPECT_EQ(problem.string_at({"code"}), "WIN102");
    EXPECT_EQ(problem.find("line")->as_int(), 7);
    EXPECT_EQ(problem.string_at({"effect"}), "refused");

    const auto sarif = schema::parse_json(
        to_report({{"bad.yaml", "", "line 1: what", {}}, {"a b\\c.yaml", Text, "", check(Text).value()}}, Format::Sarif));
    ASSERT_TRUE(sarif);
    const schema::Value& run = sarif->find("runs")->as_array().at(0);
    EXPECT_EQ(run.find("results")->as_array().at(0).string_at({"ruleId"}), "WIN102");
    const schema::Value& place = run.find("results")->as_array().at(0).find("locations")->as_array().at(0);
    EXPECT_EQ(place.string_at({"physicalLocation", "artifactLocation", "uri"}), "a%20b/c.yaml");
    EXPECT_EQ(run.at_path({"tool", "driver", "rules"})->as_array().size(), rules().size());
    EXPECT_FALSE(run.find("invocations")->as_array().at(0).find("executionSuccessful")->as_bool());
}

TEST(WindowsReport, GitHubGetsOneCommandAProblem) {
    EXPECT_EQ(to_report(reports(), Format::GitHub),
              "::error file=pod.yaml,line=7,col=3,endColumn=16,title=WIN102::Pod a: spec.hostPID: processes of a Windows host cannot be "
              "shared with pods; remove it\n");
    EXPECT_EQ(to_report({{"a,b:c", "", "line 1\n::warning::x", {}}}, Format::GitHub), "::error file=a%2Cb%3Ac::line 1%0A::warning::x\n");
}

TEST(WindowsReport, ARuleIsExplained) {
    const std::string text = explain(*find_rule("WIN305"));
    for (const char* part : {"WIN305: spec.containers[*].volumeMounts[*].subPath", "refused", "WindowsSubPath", "#win305"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(list_of_rules(), HasSubstr("WIN901"));
    EXPECT_EQ(format_of("xml"), std::nullopt);
}

/// What follows `start` in the guide, up to the end of its block.
std::string block(const std::string& guide, const std::string& start) {
    const std::size_t at = guide.find(start);
    EXPECT_NE(at, guide.npos) << start;
    return at == guide.npos ? "" : guide.substr(at + start.size(), guide.find("```", at + start.size()) - at - start.size());
}

TEST(WindowsReport, TheGuideShowsWhatIsPrinted) {
    std::ifstream file(PORTHOLE_SOURCE_DIR "/docs/guide/lint.md");
    const std::string guide{std::istreambuf_iterator<char>(file), {}};
    const std::string manifest = block(guide, "```yaml\n");
    EXPECT_EQ(block(guide, "$ porthole lint web.yaml\n"), to_report({{"web.yaml", manifest, "", check(manifest).value()}}, Format::Text));
    const Fixed fixed = fix(manifest).value();
    EXPECT_EQ(block(guide, "$ porthole lint --fix web.yaml\n"), to_report({{"web.yaml", fixed.text, "", fixed.left}}, Format::Text));
    EXPECT_EQ(block(guide, "$ porthole lint --explain WIN305\n"), explain(*find_rule("WIN305")));
}

}  // namespace
}  // namespace porthole::windows::lint
