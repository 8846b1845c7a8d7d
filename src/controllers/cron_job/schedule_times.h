#pragma once
#include <optional>

#include "base/cron_schedule.h"
#include "base/time_zone.h"

namespace porthole::controllers {

/// A schedule in a place.
struct LocalSchedule {
    CronSchedule schedule;
    std::optional<TimeZone> zone;  ///< UTC, when empty

    std::chrono::seconds offset_at(CronSchedule::Seconds time) const { return zone ? zone->offset_at(time) : std::chrono::seconds(0); }
    std::optional<CronSchedule::Seconds> next(CronSchedule::Seconds after) const;
};

struct Missed {
    std::optional<CronSchedule::Seconds> latest;  ///< the last moment in (after, now]
    int count = 0;                                ///< how many there were; counting ends at TooMany
    static constexpr int TooMany = 101;
};
Missed missed_times(const LocalSchedule& schedule, CronSchedule::Seconds after, CronSchedule::Seconds now);

}  // namespace porthole::controllers
