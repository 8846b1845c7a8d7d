#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/json/json.h"
#include "windows/lint/corpus_fixture.h"
#include "windows/lint/fix.h"

namespace porthole::windows::lint {
namespace {

using corpus::Manifest;

std::vector<std::string> refused(const std::string& text, const Options& options = {}) {
    const auto checked = check(text, options);
    if (!checked) return {checked.error().message};
    std::vector<std::string> found;
    for (const Problem& one : checked->problems)
        if (one.rule->outcome == Outcome::Refused) found.push_back(std::string(one.rule->code) + " " + one.field);
    return found;
}

std::vector<std::string> comments_of(const std::string& text) {
    std::vector<std::string> found;
    for (std::size_t at = text.find('#'); at != text.npos; at = text.find('#', at + 1))
        found.push_back(text.substr(at, text.find('\n', at) - at));
    return found;
}

/// Every `step`th, which is not a divisor of the number of features, so that all of them are among those.
std::vector<Manifest> some(std::vector<Manifest> all, std::size_t step = 11) {
    std::vector<Manifest> kept;
    for (std::size_t i = 0; i < all.size(); i += step) kept.push_back(std::move(all[i]));
    return kept;
}

TEST(WindowsLintCorpus, WhatWorksIsNotRefused) {
    const auto all = corpus::manifests();
    EXPECT_GE(all.size(), 300u);
    std::set<std::string> texts;
    for (const Manifest& one : all) {
        SCOPED_TRACE(one.name);
        EXPECT_TRUE(texts.insert(one.text).second) << "it is in the corpus twice";
        EXPECT_THAT(refused(one.text, {.build = 20348}), testing::IsEmpty()) << one.text;
    }
}

TEST(WindowsLintCorpus, TheSameAsJsonAndInAList) {
    std::string list = R"({"apiVersion":"v1","kind":"List","items":[)";
    for (const Manifest& one : some(corpus::manifests())) {
        const std::string json = schema::to_json(parse(one.text)->front());
        EXPECT_THAT(refused(json), testing::IsEmpty()) << one.name;
        list += (list.ends_with('[') ? "" : ",") + json;
    }
    EXPECT_THAT(refused(list + "]}"), testing::IsEmpty());
}

TEST(WindowsLintCorpus, OurOwnSamplesAreNotRefused) {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(PORTHOLE_SOURCE_DIR "/samples")) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".yaml") && !name.ends_with(".json")) continue;
        std::ifstream file(entry.path());
        const auto found = refused({std::istreambuf_iterator<char>(file), {}});
        ++files;
        if (name == "hyper-v.yaml")  // asks for what nodes refuse, to show that
            EXPECT_THAT(found, testing::ElementsAre("WIN106 metadata.annotations[experimental.windows.kubernetes.io/isolation-type]"));
        else
            EXPECT_THAT(found, testing::IsEmpty()) << name;
    }
    EXPECT_GT(files, 10);
}

TEST(WindowsLintCorpus, EveryFaultIsFoundAndFixesAreStable) {
    for (const Manifest& one : corpus::faulty_manifests()) {
        SCOPED_TRACE(one.name + "\n" + one.text);
        const auto before = check(one.text);
        ASSERT_TRUE(before);
        EXPECT_FALSE(before->problems.empty());
        const auto made = fix(one.text);
        ASSERT_TRUE(made);
        const auto again = fix(made->text);
        EXPECT_EQ(again->text, made->text);
        EXPECT_EQ(again->edits, 0u);
        std::size_t fixable = 0;
        for (const Problem& problem : before->problems) fixable += problem.fixable;
        EXPECT_GE(made->edits, fixable > 0 ? 1u : 0u);
        for (const Problem& problem : check(made->text)->problems) EXPECT_FALSE(problem.fixable) << problem.rule->code << " " << made->text;
    }
}

TEST(WindowsLintCorpus, FixesKeepCommentsAndWhatWorks) {
    for (const Manifest& one : some(corpus::faulty_manifests(), 5)) {
        SCOPED_TRACE(one.name + "\n" + one.text);
        std::vector<std::string> before = comments_of(one.text);
        std::erase(before, "# numbers");  // within the mapping that is removed
        std::vector<std::string> after = comments_of(fix(one.text)->text);
        std::erase(after, "# numbers");
        EXPECT_EQ(after, before);
    }
    for (const Manifest& one : some(corpus::manifests())) {
        const auto made = fix(one.text);
        if (!one.name.contains("host")) EXPECT_EQ(made->text, one.text) << one.name;
    }
}

}  // namespace
}  // namespace porthole::windows::lint
