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
    std::uint32_t lower = 0, upper = 0;  ///< what lending leaves, and what borrowing adds
    std::uint32_t current = 0;
};

/// `share` of `share_sum` of the server's seats, rounded up, with what may be lent and borrowed of it in percent; no borrowing limit is
/// -1. `current` is what a new level starts with.
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
    /// Ends a period of adjustment: its highest demand, and the average with what it deviates, which falls slowly over periods.
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
/// Divides `sum` so that every claim gets proportion × target, held within its bounds, with one proportion for all. Where the bounds do
/// not allow the sum, all get the bound that is nearest.
std::vector<double> divide_seats(double sum, std::span<const SeatClaim> claims);

}  // namespace porthole::apiserver
