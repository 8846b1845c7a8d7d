#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace porthole {

/// Seconds that an object or a request names, which may be any number: at most a hundred years either way, so that they can be added to a
/// time without overflow.
constexpr std::chrono::seconds bounded_seconds(std::int64_t number) {
    constexpr std::int64_t Most = std::int64_t{100} * 365 * 24 * 3600;
    return std::chrono::seconds(std::clamp(number, -Most, Most));
}

}  // namespace porthole
