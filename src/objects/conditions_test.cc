#include "objects/conditions.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"

namespace porthole::objects {
namespace {

using api::core::v1::NamespaceCondition;
using Conditions = std::vector<NamespaceCondition>;

const Timestamp Then = Timestamp::from_seconds(100), Now = Timestamp::from_seconds(200);

TEST(Conditions, AreFoundByType) {
    const Conditions conditions{{.type = "A", .status = "False"}, {.type = "B", .status = "True"}};
    EXPECT_EQ(find_condition(conditions, "B"), &conditions[1]);
    EXPECT_EQ(find_condition(conditions, "C"), nullptr);
    EXPECT_TRUE(is_condition_true(conditions, "B"));
    EXPECT_FALSE(is_condition_true(conditions, "A"));
    EXPECT_FALSE(is_condition_true(conditions, "C"));
}

TEST(Conditions, ANewOneBeginsNow) {
    Conditions conditions{{.type = "A", .status = "True", .last_transition_time = Then}};
    EXPECT_TRUE(set_condition(conditions, {.type = "B", .status = "True"}, Now));
    ASSERT_EQ(conditions.size(), 2u);
    EXPECT_EQ(conditions[1].last_transition_time, Now);
}

TEST(Conditions, TheTransitionTimeIsKeptWhileTheStatusIs) {
    Conditions conditions{{.type = "A", .status = "True", .last_transition_time = Then, .reason = "Old"}};
    EXPECT_TRUE(set_condition(conditions, {.type = "A", .status = "True", .reason = "New"}, Now));
    EXPECT_EQ(conditions[0].reason, "New");
    EXPECT_EQ(conditions[0].last_transition_time, Then);
    EXPECT_TRUE(set_condition(conditions, {.type = "A", .status = "False", .reason = "New"}, Now));
    EXPECT_EQ(conditions[0].last_transition_time, Now);
    EXPECT_EQ(conditions.size(), 1u);
}

TEST(Conditions, SettingTheSameAgainChangesNothing) {
    Conditions conditions{{.type = "A", .status = "True", .last_transition_time = Then, .reason = "R", .message = "m"}};
    EXPECT_FALSE(set_condition(conditions, {.type = "A", .status = "True", .reason = "R", .message = "m"}, Now));
    EXPECT_EQ(conditions[0].last_transition_time, Then);
}

}  // namespace
}  // namespace porthole::objects
