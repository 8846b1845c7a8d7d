#include <gtest/gtest.h>
#include <windows.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <set>

#include "base/wide_windows.h"
#include "cmd/self_check/check.h"
#include "node_join/windows_node/host_windows.h"
#include "runtime/processes/windows_command_line.h"

namespace porthole::cmd::self_check {
namespace {

struct Row {
    Assumption assumption;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.assumption.says; }

std::vector<Row> rows() {
    std::vector<Row> some;
    for (const Assumption& one : assumptions())
        if (one.needs != "cluster") some.push_back({one});
    return some;
}

/// A test of its own for each assumption.
using SelfCheckTest = testing::TestWithParam<Row>;

/// The part of another process that a probe has started.
TEST(SelfCheckPart, DISABLED_Play) {
    const auto code = play_part(split_windows_command_line(to_utf8(GetCommandLineW())));
    ASSERT_TRUE(code);
    std::fflush(stdout);
    std::_Exit(*code);
}

/// EMU-13: what is assumed of Windows holds of Wine, or is listed with what Wine does instead.
TEST_P(SelfCheckTest, HoldsOfWineOrIsListed) {
    RealWorld world;
    const Finding finding = check(world, GetParam().assumption,
                                  {node_join::own_program().string(), "--gtest_also_run_disabled_tests", "--gtest_catch_exceptions=0",
                                   "--gtest_filter=SelfCheckPart.DISABLED_Play"});
    EXPECT_TRUE(finding.outcome == Finding::Outcome::AsAssumed || finding.outcome == Finding::Outcome::AsWine) << text_of(finding);
    EXPECT_LE(finding.differences.size(), finding.outcome == Finding::Outcome::AsAssumed ? 0u : 1u) << text_of(finding);
}

INSTANTIATE_TEST_SUITE_P(All, SelfCheckTest, testing::ValuesIn(rows()), [](const auto& info) {
    std::string name = info.param.assumption.area + "_" + info.param.assumption.id;
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(SelfCheckProbes, AndAssumptionsAreTheSame) {
    std::set<std::string> assumed;
    for (const Row& row : rows()) assumed.insert(row.assumption.area + "/" + row.assumption.id);
    const std::vector<std::string> all = probed();
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()), assumed);
    EXPECT_EQ(all.size(), assumed.size()) << "a probe is there twice";
}

}  // namespace
}  // namespace porthole::cmd::self_check
