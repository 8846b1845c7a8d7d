#include <gtest/gtest.h>

#include <algorithm>

#include "node_join/windows_node/preflight.h"

namespace porthole::node_join {
namespace {

Check build_check(std::uint32_t build) {
    HostFacts facts;
    facts.build = build;
    const auto checks = preflight(facts, {});
    return *std::ranges::find(checks, "windows-build", &Check::id);
}

// IMG-03, IMG-04, LIM-53
TEST(PreflightBuild, OldBuildsAreRefusedListedOnesJoinAndOthersJoinWithAWarning) {
    struct {
        std::uint32_t build;
        CheckOutcome outcome;
    } const rows[] = {{14393, CheckOutcome::Fail}, {16299, CheckOutcome::Fail}, {17134, CheckOutcome::Fail}, {17763, CheckOutcome::Pass},
                      {19041, CheckOutcome::Pass}, {19042, CheckOutcome::Pass}, {19045, CheckOutcome::Warn}, {20348, CheckOutcome::Pass},
                      {26100, CheckOutcome::Pass}, {22621, CheckOutcome::Warn}};
    for (const auto& row : rows) EXPECT_EQ(build_check(row.build).outcome, row.outcome) << row.build;
    EXPECT_NE(build_check(14393).remedy.find("17763"), std::string::npos) << "the minimum is named";
    EXPECT_EQ(build_check(19045).text.find("UnsupportedOSBuild: "), 0u);
}

}  // namespace
}  // namespace porthole::node_join
