#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace porthole {

/// When a CronJob runs: five fields ("*/5 1-3 * JAN,MAR mon"), a macro ("@daily") or "@every 1h30m".
///
/// As in crontab(5), if both day of month and day of week are restricted, a day matches if either does. A value: copies are cheap, and
/// `const` functions may be called from any thread.
class CronSchedule {
public:
    using Seconds = std::chrono::sys_seconds;
    /// The offset of local time from UTC at a given moment.
    using UtcOffset = std::function<std::chrono::seconds(Seconds)>;

    /// Error: BadRequest with the message of Kubernetes' parser. A leading "TZ=..." is an error here.
    static Result<CronSchedule> parse(std::string_view text);

    /// The first time after `after`; nullopt if there is none within five years ("30 February"). Local times that a clock change skips are
    /// left out. Without `offset`, in UTC.
    std::optional<Seconds> next(Seconds after, const UtcOffset& offset = {}) const;

private:
    /// Bit n is set if the value n matches.
    struct Field {
        std::uint64_t bits = 0;
        bool any = false;  ///< written as "*" or "?"
        bool has(unsigned value) const { return bits >> value & 1; }
    };
    friend struct CronParser;
    bool day_fits(std::chrono::year_month_day date) const;

    Field minute_, hour_, day_, month_, weekday_;
    std::chrono::seconds every_{0};  ///< > 0 for "@every"
};

}  // namespace porthole
