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
    // Else the points would not be where it hurts. A thousand of them miss a compaction during a checkpoint in one run of a hundred.
    const auto has_all = [&] {
        return wanted < 1000 || (total.recoveries > 0 && total.failures > 0 && total.during_checkpoint_and_write > 0 &&
                                 total.during_checkpoint_and_compaction > 0);
    };
    for (std::uint64_t seed = first; total.points < wanted || (!has_all() && total.points < 5 * wanted); ++seed) {
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
    EXPECT_TRUE(HasFailure() || has_all());
}

}  // namespace
}  // namespace porthole::store
