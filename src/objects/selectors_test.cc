#include "objects/selectors.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

using api::meta::v1::LabelSelector;
using api::meta::v1::LabelSelectorRequirement;

LabelSelectorRequirement requirement(const std::string& key, const std::string& operation, std::vector<std::string> values = {}) {
    LabelSelectorRequirement result;
    result.key = key;
    result.operator_ = operation;
    result.values = std::move(values);
    return result;
}

TEST(Selectors, RequirementsHoldOrNot) {
    const Labels labels{{"app", "web"}, {"tier", "front"}};
    const struct {
        const char* name;
        LabelSelectorRequirement requirement;
        bool holds;
    } rows[] = {
        {"in", requirement("app", "In", {"x", "web"}), true},
        {"not listed", requirement("app", "In", {"x"}), false},
        {"absent is in nothing", requirement("none", "In", {"x"}), false},
        {"listed is not out", requirement("app", "NotIn", {"web"}), false},
        {"absent is out", requirement("none", "NotIn", {"web"}), true},
        {"exists", requirement("app", "Exists"), true},
        {"exists not", requirement("none", "Exists"), false},
        {"absent", requirement("none", "DoesNotExist"), true},
        {"unknown operator", requirement("app", "Like", {"web"}), false},
    };
    for (const auto& row : rows) {
        LabelSelector selector;
        selector.match_expressions = {row.requirement};
        EXPECT_EQ(matches(selector, labels), row.holds) << row.name;
    }
}

TEST(Selectors, EmptySelectsEverythingAndNoneNothing) {
    EXPECT_TRUE(matches(LabelSelector(), {{"a", "b"}}));
    EXPECT_FALSE(matches(schema::Box<LabelSelector>(), {{"a", "b"}}));
}

TEST(Selectors, AreWrittenForQueries) {
    LabelSelector selector;
    selector.match_labels = {{"app", "web"}};
    selector.match_expressions = {requirement("tier", "In", {"a", "b"}), requirement("x", "DoesNotExist"), requirement("y", "Exists")};
    EXPECT_EQ(to_query(selector), "app=web,tier in (a,b),!x,y");
}

}  // namespace
}  // namespace porthole::objects
