#include "base/values/int_or_string.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(IntOrString, ScalesPercentagesOfATotal) {
    EXPECT_EQ(IntOrString(3).scaled(10, true).value(), 3);
    EXPECT_EQ(IntOrString("25%").scaled(10, true).value(), 3);
    EXPECT_EQ(IntOrString("25%").scaled(10, false).value(), 2);
    EXPECT_EQ(IntOrString("0%").scaled(10, true).value(), 0);
    EXPECT_EQ(IntOrString("200%").scaled(7, false).value(), 14);
    EXPECT_FALSE(IntOrString("25").scaled(10, true));
    EXPECT_FALSE(IntOrString("x%").scaled(10, true));
    EXPECT_FALSE(IntOrString("99999999999%").scaled(10, true));
}

}  // namespace
}  // namespace porthole
