#include "objects/requirement.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

TEST(Requirement, HoldsAsTheOperatorSays) {
    const struct {
        const char* name;
        Operator operation;
        std::vector<std::string> values;
        std::optional<std::string> value;
        bool expected;
    } rows[] = {
        {"in: listed", Operator::In, {"a", "b"}, "b", true},
        {"in: another", Operator::In, {"a", "b"}, "c", false},
        {"in: no such key", Operator::In, {"a", "b"}, {}, false},
        {"not in: listed", Operator::NotIn, {"a"}, "a", false},
        {"not in: another", Operator::NotIn, {"a"}, "b", true},
        {"not in: no such key", Operator::NotIn, {"a"}, {}, true},
        {"exists", Operator::Exists, {}, "", true},
        {"exists: no such key", Operator::Exists, {}, {}, false},
        {"does not exist", Operator::DoesNotExist, {}, {}, true},
        {"does not exist: it does", Operator::DoesNotExist, {}, "a", false},
        {"greater", Operator::GreaterThan, {"9"}, "10", true},
        {"greater: equal", Operator::GreaterThan, {"10"}, "10", false},
        {"greater: no number", Operator::GreaterThan, {"9"}, "10Gi", false},
        {"greater: bound is no number", Operator::GreaterThan, {"x"}, "10", false},
        {"greater: two bounds", Operator::GreaterThan, {"1", "20"}, "10", false},
        {"greater: no bound", Operator::GreaterThan, {}, "10", false},
        {"greater: no such key", Operator::GreaterThan, {"-1"}, {}, false},
        {"less", Operator::LessThan, {"10"}, "-9", true},
        {"less: equal", Operator::LessThan, {"10"}, "10", false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(holds(row.operation, row.values, row.value ? &*row.value : nullptr), row.expected);
    }
}

TEST(Requirement, KnowsTheOperatorsOfTheApi) {
    EXPECT_EQ(parse_operator("Gt"), Operator::GreaterThan);
    EXPECT_EQ(parse_operator("DoesNotExist"), Operator::DoesNotExist);
    EXPECT_EQ(parse_operator("in"), std::nullopt);
    EXPECT_EQ(parse_operator(""), std::nullopt);
}

}  // namespace
}  // namespace porthole::objects
