#include "base/time/cron_schedule.h"

#include <gtest/gtest.h>

#include "base/time/time.h"

namespace porthole {
namespace {

using namespace std::chrono_literals;
using Seconds = CronSchedule::Seconds;

Seconds at(std::string_view time) { return Seconds(std::chrono::seconds(Timestamp::parse(time)->seconds())); }

std::string next(std::string_view schedule, std::string_view after, const CronSchedule::UtcOffset& offset = {}) {
    const auto found = CronSchedule::parse(schedule)->next(at(after), offset);
    return found ? Timestamp::from_seconds(found->time_since_epoch().count()).to_string() : "never";
}

TEST(CronSchedule, FindsTheNextTime) {
    const struct {
        const char* schedule;
        const char* after;
        const char* next;
    } rows[] = {
        {"* * * * *", "2024-01-01T00:00:30Z", "2024-01-01T00:01:00Z"},
        {"*/15 * * * *", "2024-01-01T00:15:00Z", "2024-01-01T00:30:00Z"},
        {"5/20 * * * *", "2024-01-01T00:30:00Z", "2024-01-01T00:45:00Z"},
        {"0 3 * * *", "2024-01-01T03:00:00Z", "2024-01-02T03:00:00Z"},
        {"30 8-10 * jan,MAR *", "2024-01-31T10:30:00Z", "2024-03-01T08:30:00Z"},
        {"0 0 29 2 *", "2024-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
        {"0 0 31 2 *", "2024-01-01T00:00:00Z", "never"},
        {"0 0 * * mon-FRI", "2024-01-05T00:00:00Z", "2024-01-08T00:00:00Z"},
        {"0 0 13 * 5", "2024-01-01T00:00:00Z", "2024-01-05T00:00:00Z"},  // either day, as both are given
        {"@hourly", "2024-12-31T23:10:00Z", "2025-01-01T00:00:00Z"},
        {"@weekly", "2024-01-01T00:00:00Z", "2024-01-07T00:00:00Z"},
        {"@every 1h30m", "2024-01-01T00:00:10Z", "2024-01-01T01:30:10Z"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.schedule);
        EXPECT_EQ(next(row.schedule, row.after), row.next);
    }
}

TEST(CronSchedule, SaysWhatIsWrong) {
    const struct {
        const char* schedule;
        const char* problem;
    } rows[] = {
        {"", "empty spec string"},
        {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
        {"error", "expected exactly 5 fields, found 1: [error]"},
        {"60 * * * *", "end of range (60) above maximum (59): 60"},
        {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
        {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
        {"*/0 * * * *", "step of range should be a positive number: */0"},
        {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
        {"1/2/3 * * * *", "too many slashes: 1/2/3"},
        {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
        {"@never", "unrecognized descriptor: @never"},
        {"@every soon", "failed to parse duration @every soon: time: invalid duration \"soon\""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.schedule);
        const auto schedule = CronSchedule::parse(row.schedule);
        ASSERT_FALSE(schedule);
        EXPECT_EQ(schedule.error().message, row.problem);
    }
}

TEST(CronSchedule, FollowsLocalClocks) {
    // One hour ahead of UTC, two from 31 March 01:00 UTC on: the local hour from 2 to 3 is missing.
    const CronSchedule::UtcOffset berlin = [](Seconds time) { return time < at("2024-03-31T01:00:00Z") ? 1h : 2h; };
    EXPECT_EQ(next("0 6 * * *", "2024-03-30T00:00:00Z", berlin), "2024-03-30T05:00:00Z");
    EXPECT_EQ(next("0 6 * * *", "2024-03-30T12:00:00Z", berlin), "2024-03-31T04:00:00Z");
    EXPECT_EQ(next("30 2 * * *", "2024-03-30T12:00:00Z", berlin), "2024-04-01T00:30:00Z");
}

}  // namespace
}  // namespace porthole
