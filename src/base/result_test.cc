#include "base/result.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

const Result<int> Value = 1, Cancelled = Error(Reason::Cancelled, "closing"), Missing = Error(Reason::NotFound, "no pod");

TEST(ErrorReasons, AreAskedOfResultsAndErrors) {
    EXPECT_TRUE(is_cancelled(Cancelled));
    EXPECT_TRUE(is_cancelled(Cancelled.error()));
    EXPECT_FALSE(is_cancelled(Value));
    EXPECT_FALSE(is_cancelled(Missing));
    EXPECT_TRUE(is_not_found(Missing));
    EXPECT_FALSE(is_not_found(Value));
    EXPECT_FALSE(is_not_found(Cancelled));
}

TEST(ErrorReasons, OnlyNotFoundIsIgnored) {
    EXPECT_TRUE(ignore_not_found(Value));
    EXPECT_TRUE(ignore_not_found(Missing));
    EXPECT_TRUE(ignore_not_found(Result<void>()));
    const auto cancelled = ignore_not_found(Cancelled);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().reason, Reason::Cancelled);
    EXPECT_EQ(cancelled.error().message, "closing");
}

TEST(ErrorReasons, TheCodeIsTheReasonsUnlessTheDetailsHaveOne) {
    Error error(Reason::Invalid, "no");
    EXPECT_EQ(http_code(error), 422);
    error.details->code = 403;
    EXPECT_EQ(http_code(error), 403);
    EXPECT_EQ(http_code(Error(error)), 403);
}

}  // namespace
}  // namespace porthole
