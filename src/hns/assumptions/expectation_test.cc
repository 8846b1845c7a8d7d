#include "hns/assumptions/expectation.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::hns {
namespace {

schema::Value json(const char* text) { return schema::parse_json(text).value(); }

TEST(Expectation, IsMetByWhatHasAtLeastThat) {
    const struct {
        const char *expected, *found, *observed;
    } rows[] = {
        {R"({"A":1})", R"({"A":1,"B":2})", R"({"A":1})"},
        {R"({"A":null})", R"({"B":2})", R"({"A":null})"},
        {R"({"A":"<any>"})", R"({"A":5})", R"({"A":"<any>"})"},
        {R"({"A":"<mac>"})", R"({"A":"00-15-5D-0a-0B-0C"})", R"({"A":"<mac>"})"},
        {R"({"A":"<guid>"})", R"({"A":"4B5E6B2B-1A2C-4D5E-8F00-0123456789AB"})", R"({"A":"<guid>"})"},
        {R"(["4B5E6B2B-1A2C-4D5E-8F00-0123456789AB"])", R"(["x","4b5e6b2b-1a2c-4d5e-8f00-0123456789ab"])",
         R"(["4B5E6B2B-1A2C-4D5E-8F00-0123456789AB"])"},
        {R"([{"A":1}])", R"([{"B":1},{"A":1}])", R"([{"A":1}])"},
        {"[]", "null", "[]"},
    };
    for (const auto& row : rows) {
        EXPECT_TRUE(shows(json(row.expected), json(row.found))) << row.expected;
        EXPECT_EQ(schema::to_json(observed(json(row.expected), json(row.found))), row.observed);
    }
}

TEST(Expectation, LeavesOfWhatDiffersOnlyWhatItSpeaksOf) {
    const struct {
        const char *expected, *found, *observed;
    } rows[] = {
        {R"({"A":1,"C":"<mac>"})", R"({"A":2,"B":"private","C":"00-15-5D-00-00-01"})", R"({"A":2,"C":"<mac>"})"},
        {R"({"A":null})", R"({"A":3})", R"({"A":3})"},
        {R"({"A":"<mac>"})", R"({"A":"00:15:5d:00:00:01"})", R"({"A":"00:15:5d:00:00:01"})"},
        {R"({"A":"<any>"})", R"({"A":""})", R"({"A":""})"},
        {R"([{"A":1}])", R"([{"A":2,"B":"private"}])", R"([{"A":2}])"},
        {"[]", "[1]", "[1]"},
        {R"({"A":1})", "null", "null"},
    };
    for (const auto& row : rows) {
        EXPECT_FALSE(shows(json(row.expected), json(row.found))) << row.expected;
        EXPECT_EQ(schema::to_json(observed(json(row.expected), json(row.found))), row.observed);
    }
}

}  // namespace
}  // namespace porthole::hns
