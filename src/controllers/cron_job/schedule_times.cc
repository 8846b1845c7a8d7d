#include "controllers/cron_job/schedule_times.h"

#include <algorithm>

namespace porthole::controllers {

using Seconds = CronSchedule::Seconds;
using namespace std::chrono_literals;

namespace {

std::optional<Seconds> last_in(const LocalSchedule& schedule, Seconds after, Seconds now) {
    std::optional<Seconds> latest;
    for (auto next = schedule.next(after); next && *next <= now; next = schedule.next(*next)) latest = next;
    return latest;
}

}  // namespace

std::optional<Seconds> LocalSchedule::next(Seconds after) const {
    if (!zone) return schedule.next(after);
    return schedule.next(after, [this](Seconds time) { return offset_at(time); });
}

Missed missed_times(const LocalSchedule& schedule, Seconds after, Seconds now) {
    Missed missed;
    for (auto next = schedule.next(after); next && *next <= now; next = schedule.next(*next)) {
        missed.latest = next;
        if (++missed.count == Missed::TooMany) break;
    }
    if (missed.count < Missed::TooMany) return missed;
    // After a long time only the last moment counts: looked for in windows that grow, instead of from the beginning.
    for (const std::chrono::seconds window : {std::chrono::seconds(1h), std::chrono::seconds(24h), std::chrono::seconds(24h * 31)}) {
        if (now - window <= after) break;
        if (const auto latest = last_in(schedule, now - window, now)) return {latest, Missed::TooMany};
    }
    return {last_in(schedule, after, now), Missed::TooMany};
}

}  // namespace porthole::controllers
