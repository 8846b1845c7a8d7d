#include "winservice/crash_windows.h"

#include <gtest/gtest.h>
#include <windows.h>

namespace porthole::winservice {
namespace {

TEST(Crash, EndsTheProcessAtOnceAndNamesThePlace) {
    const auto crash = [] {
        end_on_unhandled_exceptions();
        RaiseException(EXCEPTION_ACCESS_VIOLATION, 0, 0, nullptr);
    };
    EXPECT_EXIT(crash(), testing::ExitedWithCode(static_cast<int>(EXCEPTION_ACCESS_VIOLATION)), "ended by exception 0xc0000005 at program");
}

}  // namespace
}  // namespace porthole::winservice
