// The power is cut at a thousand random calls of the disk, other ones in every run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "store/embedded/crash_history_fixture.h"

namespace porthole::store {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(CrashPoints, NothingIsLostAndNothingComesBack) {
    constexpr std::size_t PointsOfHistory = 100;
    std::string directory = testing::TempDir() + "/crash-XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    const std::uint64_t first = number_from("PORTHOLE_SEED", now % 1'000'000'000), wanted = number_from("PORTHOLE_CRASH_POINTS", 1000);
    CrashRun total;
    for (std::uint64_t seed = first; total.points < wanted; ++seed) {
        const CrashRun run = run_crash_history(seed, PointsOfHistory, directory);
        EXPECT_EQ(run.violation, "") << "again: PORTHOLE_SEED=" << seed << " PORTHOLE_CRASH_POINTS=1 build/dev/tests/crash_points_test";
        if (HasFailure()) break;
        EXPECT_GE(run.compactions, 2u);
        total.points += run.points;
        total.compactions += run.compactions;
        total.recoveries += run.recoveries;
        total.failures += run.failures;
        total.during_checkpoint_and_write += run.during_checkpoint_and_write;
        total.during_checkpoint_and_compaction += run.during_checkpoint_and_compaction;
    }
    std::printf(
        "%zu crash points from seed %llu on, %zu transactions of compactions, %zu failed calls; %zu times more than what was acknowledged "
        "was found; taken during a checkpoint: %zu in a write, %zu in a compaction\n",
        total.points, static_cast<unsigned long long>(first), total.compactions, total.failures, total.recoveries,
        total.during_checkpoint_and_write, total.during_checkpoint_and_compaction);
    std::filesystem::remove_all(directory);
    if (wanted < 1000 || HasFailure()) return;
    // Else they would not be where it hurts.
    EXPECT_GT(total.recoveries, 0u);
    EXPECT_GT(total.failures, 0u);
    EXPECT_GT(total.during_checkpoint_and_write, 0u);
    EXPECT_GT(total.during_checkpoint_and_compaction, 0u);
}

}  // namespace
}  // namespace porthole::store
