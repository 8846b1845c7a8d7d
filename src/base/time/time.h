#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole {

/// A point of wall-clock time as the API carries it: whole units of `Unit` since 1970, UTC, or none (Go's zero time). `is_zero()` is true
/// after default construction. Holds the years 1 to 9999.
template <class Unit>
class WallTime {
public:
    using SystemTime = std::chrono::sys_time<std::chrono::nanoseconds>;

    constexpr WallTime() = default;
    /// Truncates to whole units.
    constexpr explicit WallTime(SystemTime time) : ticks_(std::chrono::floor<Unit>(time).time_since_epoch().count()) {}
    static constexpr WallTime from_ticks(std::int64_t ticks) {
        WallTime time;
        time.ticks_ = ticks;
        return time;
    }
    static constexpr WallTime from_seconds(std::int64_t seconds) {
        return from_ticks(std::chrono::duration_cast<Unit>(std::chrono::seconds(seconds)).count());
    }
    static constexpr WallTime from_nanoseconds(std::int64_t nanoseconds) {
        return WallTime(SystemTime(std::chrono::nanoseconds(nanoseconds)));
    }
    /// RFC 3339, "2024-05-01T10:00:00Z" or with an offset and a fraction, which is truncated. Error: BadRequest with Go's message.
    static Result<WallTime> parse(std::string_view text);

    constexpr bool is_zero() const { return ticks_ == Zero; }
    constexpr std::int64_t ticks() const { return ticks_; }
    std::int64_t seconds() const;
    /// The part below one second, 0 to 999,999,999.
    std::int32_t nanoseconds_of_second() const;
    /// Since 1970; 0 for the zero time, clamped to the range of int64.
    std::int64_t nanoseconds() const;
    SystemTime to_system_time() const { return SystemTime(std::chrono::nanoseconds(nanoseconds())); }
    /// "2024-05-01T10:00:00Z"; MicroTimestamp has six digits of fraction. "" for the zero time.
    std::string to_string() const;

    /// The zero time is less than every other.
    auto operator<=>(const WallTime&) const = default;

private:
    static constexpr std::int64_t Zero = INT64_MIN;
    std::int64_t ticks_ = Zero;
};

using Timestamp = WallTime<std::chrono::seconds>;            ///< metav1.Time
using MicroTimestamp = WallTime<std::chrono::microseconds>;  ///< metav1.MicroTime
extern template class WallTime<std::chrono::seconds>;
extern template class WallTime<std::chrono::microseconds>;

/// The sum, clamped to the range of int64 like WallTime::nanoseconds(): times of objects come from clients.
constexpr std::int64_t add_saturated(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}
/// `time`, clamped to the range of 64 bits of nanoseconds, some 292 years before and after 1970.
constexpr std::chrono::sys_time<std::chrono::nanoseconds> saturated(std::chrono::sys_seconds time) {
    constexpr std::int64_t Most = INT64_MAX / 1'000'000'000;
    const std::int64_t seconds = time.time_since_epoch().count();
    return std::chrono::sys_seconds(std::chrono::seconds(seconds < -Most ? -Most : seconds > Most ? Most : seconds));
}

/// `later` - `earlier`, exact to the coarser unit.
template <class Unit, class OtherUnit>
std::chrono::nanoseconds operator-(const WallTime<Unit>& later, const WallTime<OtherUnit>& earlier) {
    const std::int64_t start = earlier.nanoseconds();
    return std::chrono::nanoseconds(add_saturated(later.nanoseconds(), start == INT64_MIN ? INT64_MAX : -start));
}
template <class Unit>
WallTime<Unit> operator+(const WallTime<Unit>& time, std::chrono::nanoseconds step) {
    return WallTime<Unit>::from_nanoseconds(add_saturated(time.nanoseconds(), step.count()));
}

/// Go's text for a duration, "1h30m0s", "1.5ms", "0s".
std::string format_duration(std::chrono::nanoseconds duration);
/// The reverse ("1h", "-1.5h", "300ms"). Error: BadRequest with Go's message (`time: invalid duration "x"`).
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
/// kubectl's age: "5s", "2m30s", "3h5m", "4d", "2y30d"; "<invalid>" for more than a second in the future.
std::string format_age(std::chrono::nanoseconds age);

}  // namespace porthole
