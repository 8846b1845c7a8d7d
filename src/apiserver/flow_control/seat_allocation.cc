#include "apiserver/flow_control/seat_allocation.h"

#include <algorithm>
#include <cmath>

namespace porthole::apiserver {
namespace {

constexpr double LeastTarget = 0.001;  ///< so that a level without demand still has a proportion
/// With a period of 10 s, half of what was is forgotten after five minutes.
constexpr double Smoothing = 0.977;

std::uint32_t percent_of(std::uint32_t seats, std::int32_t percent) {
    return static_cast<std::uint32_t>(std::lround(seats * (percent / 100.0)));
}

double sum_at(double proportion, std::span<const SeatClaim> claims) {
    double sum = 0;
    for (const SeatClaim& claim : claims) sum += std::clamp(proportion * std::max(claim.target, LeastTarget), claim.lower, claim.upper);
    return sum;
}

}  // namespace

SeatLimits seat_limits(std::uint32_t server_seats, double share, double share_sum, std::int32_t lendable_percent,
                       std::int32_t borrowing_limit_percent) {
    SeatLimits limits;
    if (share_sum > 0) limits.nominal = static_cast<std::uint32_t>(std::ceil(server_seats * share / share_sum));
    const std::uint32_t lendable = std::min(percent_of(limits.nominal, lendable_percent), limits.nominal);
    limits.lower = limits.nominal - lendable;
    limits.upper = limits.nominal + (borrowing_limit_percent < 0 ? server_seats : percent_of(limits.nominal, borrowing_limit_percent));
    limits.current = limits.nominal - lendable / 2;
    return limits;
}

void SeatDemand::integrate(MonotonicTime now) {
    if (since_ != MonotonicTime()) {
        const double passed = std::chrono::duration<double>(now - since_).count();
        seconds_ += passed;
        sum_ += passed * seats_;
        sum_of_squares_ += passed * seats_ * seats_;
    }
    since_ = now;
}

void SeatDemand::end_period(MonotonicTime now) {
    integrate(now);
    last_highest_ = highest_;
    highest_ = seats_;
    if (seconds_ > 0) {
        const double average = sum_ / seconds_;
        const double deviation = std::sqrt(std::max(0.0, sum_of_squares_ / seconds_ - average * average));
        const double envelope = average + deviation;
        smoothed_ = std::max(envelope, Smoothing * smoothed_ + (1 - Smoothing) * envelope);
    }
    seconds_ = sum_ = sum_of_squares_ = 0;
}

std::vector<double> divide_seats(double sum, std::span<const SeatClaim> claims) {
    // The sum grows with the proportion, so halving an interval finds it; beyond the last bound nothing grows any more.
    double low = 0, high = 0;
    for (const SeatClaim& claim : claims) high = std::max(high, claim.upper / std::max(claim.target, LeastTarget));
    for (int step = 0; step < 100; ++step) {
        const double middle = (low + high) / 2;
        (sum_at(middle, claims) < sum ? low : high) = middle;
    }
    std::vector<double> given;
    for (const SeatClaim& claim : claims) given.push_back(std::clamp(high * std::max(claim.target, LeastTarget), claim.lower, claim.upper));
    return given;
}

}  // namespace porthole::apiserver
