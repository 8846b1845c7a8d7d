#include "cmd/self_check/assumption.h"

#include <gtest/gtest.h>

#include <set>

#include "cmd/self_check/finding.h"
#include "schema/json/json.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;
using Outcome = Finding::Outcome;

Value json(const char* text) { return schema::parse_json(text).value(); }

TEST(SelfCheckAssumptions, HaveANameOfTheirOwnAndASentence) {
    std::set<std::string> names;
    for (const Assumption& one : assumptions()) {
        EXPECT_TRUE(names.insert(one.id).second) << one.id << " is there twice";
        EXPECT_TRUE(one.says.ends_with('.')) << one.id;
        EXPECT_FALSE(one.needs == "cluster" && !one.wine.is_null()) << one.id;
    }
    for (const hns::Assumption& one : hns::assumptions()) EXPECT_TRUE(names.insert(one.id).second) << one.id << " is there twice";
}

TEST(SelfCheckAssumptions, RefuseWhatIsNone) {
    const struct {
        const char *text, *error;
    } rows[] = {
        {"[]", "\"assumptions\" must be a list of at most 1000 entries"},
        {"assumptions: [{}]", "an assumption has no id"},
        {"assumptions: [{id: a}]", "a: has no area"},
        {"assumptions: [{id: a, area: b, needs: luck, shows: true}]", "a: needs \"luck\", which there is not"},
        {"assumptions: [{id: a, area: b}]", "a: \"shows\" is of those that need no cluster, and of all of those"},
        {"assumptions: [{id: a, area: b, needs: cluster}]", "a: \"by\" is of those that need a cluster, and only of those"},
        {"assumptions: [{id: a, area: b, shows: true, by: c}]", "a: \"by\" is of those that need a cluster, and only of those"},
        {"assumptions: [{id: a, area: b, needs: cluster, by: c, shows: 1}]",
         "a: \"shows\" is of those that need no cluster, and of all of those"},
    };
    for (const auto& row : rows) {
        const auto parsed = parse_assumptions(row.text);
        ASSERT_FALSE(parsed) << row.text;
        EXPECT_EQ(parsed.error().message, row.error);
    }
}

Assumption assumed(const char* shows, const char* wine = "null") {
    return {.area = "files", .id = "one", .says = "It is one.", .needs = "", .by = "", .shows = json(shows), .wine = json(wine)};
}

TEST(SelfCheckFindings, AnAnswerIsAsAssumedAsOfWineOrDiffers) {
    const struct {
        const char *assumed, *wine, *answer;
        bool is_wine;
        Outcome outcome;
        const char* difference;
    } rows[] = {
        {R"({"a":1})", "null", R"({"a":1,"b":2})", false, Outcome::AsAssumed, ""},
        {R"({"a":1})", R"({"a":2})", R"({"a":1})", true, Outcome::AsAssumed, ""},
        {R"({"a":1})", R"({"a":2})", R"({"a":2})", true, Outcome::AsWine, R"(shows {"a":2} instead of {"a":1})"},
        {R"({"a":1})", R"({"a":2})", R"({"a":2})", false, Outcome::Differs, R"(shows {"a":2} instead of {"a":1})"},
        {R"({"a":1})", R"({"a":2})", R"({"a":3})", true, Outcome::Differs, R"(shows {"a":3} instead of {"a":1})"},
        {R"({"a":1})", "null", R"({"a":3})", true, Outcome::Differs, R"(shows {"a":3} instead of {"a":1})"},
    };
    for (const auto& row : rows) {
        const Finding finding = judge(assumed(row.assumed, row.wine), json(row.answer), row.is_wine);
        EXPECT_EQ(finding.outcome, row.outcome) << row.answer;
        EXPECT_EQ(finding.differences.empty() ? "" : finding.differences.front(), row.difference);
    }
    const Finding failed = judge(assumed(R"({"a":1})"), Error(Reason::Io, "no such thing"), false);
    EXPECT_EQ(failed.outcome, Outcome::Differs);
    EXPECT_EQ(failed.differences.front(), R"(shows {"fails":"no such thing"} instead of {"a":1})");
}

/// EMU-13: a report of a host is read as what is assumed from then on, each part by those who know its form.
TEST(SelfCheckFindings, AReportIsReadAsAssumptions) {
    const Finding differs = judge(assumed(R"({"a":1})", R"({"a":3})"), json(R"({"a":2})"), false);
    const Finding unchecked = not_run(assumed("{}"), "it needs luck");
    const hns::Assumption& of_service = hns::assumptions().front();
    const Finding service =
        of_hns({of_service, {.outcome = hns::Finding::Outcome::AsAssumed, .differences = {}, .observed = of_service.calls}});
    const std::string report = schema::to_json(report_of(json(R"({"version":"10.0"})"), {differs, unchecked, service}));

    const auto read = parse_assumptions(report);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ(judge(read->front(), json(R"({"a":2})"), false).outcome, Outcome::AsAssumed);
    EXPECT_EQ(judge(read->front(), json(R"({"a":1})"), false).outcome, Outcome::Differs);
    const auto of_hns = hns::parse_assumptions(report);
    ASSERT_TRUE(of_hns) << of_hns.error().message;
    ASSERT_EQ(of_hns->size(), 1u);
    EXPECT_EQ(of_hns->front().id, of_service.id);
    EXPECT_NE(report.find(R"("notRun":[{"area":"files","id":"one","says":"It is one.","why":["it needs luck"]}])"), report.npos) << report;
}

}  // namespace
}  // namespace porthole::cmd::self_check
