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
/// As in crontab(5), a day fits when it fits by month or by week if both are given, else it must fit both. A value: copies are cheap,
/// and `const` functions may be called from any thread.
class CronSchedule {
public:
    using Seconds = std::chrono::sys_seconds;
    /// How far local clocks are ahead of UTC at a moment.
    using UtcOffset = std::function<std::chrono::seconds(Seconds)>;

    /// Error: BadRequest, in the words of Kubernetes' parser. A leading "TZ=..." is an error here.
    static Result<CronSchedule> parse(std::string_view text);

    /// The first time after `after`; nullopt when there is none within five years ("30 February"). Local times that a change
    /// of the clocks skips are left out. Without `offset`, in UTC.
    std::optional<Seconds> next(Seconds after, const UtcOffset& offset = {}) const;

private:
    /// Bit n: the value n fits.
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
