#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/event_loop.h"

/// How the server's seats are divided among priority levels (KEP-1040, "Dispatching" and "Borrowing").
namespace porthole::apiserver {

/// The seats of one level, from its configuration.
struct SeatLimits {
    std::uint32_t nominal = 0;
    std::uint32_t lower = 0, upper = 0;  ///< after lending everything, and with everything borrowed
    std::uint32_t current = 0;
};

/// The seats for `share` of `share_sum`, rounded up, and the percentages of them that may be lent and borrowed; a borrowing limit of -1
/// means none. `current` is a new level's initial value.
SeatLimits seat_limits(std::uint32_t server_seats, double share, double share_sum, std::int32_t lendable_percent,
                       std::int32_t borrowing_limit_percent);

/// The seats that a level could use, over time.
class SeatDemand {
public:
    void set(std::uint32_t seats, MonotonicTime now) {
        if (seats == seats_) return;
        integrate(now);
        seats_ = seats;
        highest_ = seats > highest_ ? seats : highest_;
    }
    /// Ends an adjustment period: computes its highest demand, and a smoothed demand (average plus deviation), which decreases slowly over
    /// periods.
    void end_period(MonotonicTime now);
    std::uint32_t highest() const { return last_highest_; }
    double smoothed() const { return smoothed_; }

private:
    void integrate(MonotonicTime now);

    std::uint32_t seats_ = 0, highest_ = 0, last_highest_ = 0;
    MonotonicTime since_{};
    double seconds_ = 0, sum_ = 0, sum_of_squares_ = 0, smoothed_ = 0;
};

/// One level in the division: it gets at least `lower`, at most `upper`, and otherwise in proportion to `target`.
struct SeatClaim {
    double target, lower, upper;
};
/// Divides `sum` so that every claim gets proportion × target, clamped to its bounds, with one proportion for all. If the bounds do not
/// allow the sum, all get the nearest bound.
std::vector<double> divide_seats(double sum, std::span<const SeatClaim> claims);

}  // namespace porthole::apiserver
