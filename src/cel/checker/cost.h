#pragma once
#include <cstdint>

namespace porthole::cel {

// Without overflow: UINT64_MAX is unbounded.
std::uint64_t cost_sum(std::uint64_t a, std::uint64_t b);
std::uint64_t cost_product(std::uint64_t a, std::uint64_t b);
std::uint64_t cost_scaled(std::uint64_t size, double factor);  ///< rounded up

/// A range of costs or sizes, without overflow: UINT64_MAX is unbounded.
struct CostRange {
    std::uint64_t min = 0, max = 0;

    static constexpr CostRange fixed(std::uint64_t amount) { return {amount, amount}; }
    static constexpr CostRange unknown() { return {0, UINT64_MAX}; }
    CostRange operator+(const CostRange& other) const;
    CostRange operator*(const CostRange& other) const;
    /// Rounded up.
    CostRange scaled(double factor) const;
    CostRange united(const CostRange& other) const;
    bool operator==(const CostRange&) const = default;
};
using SizeRange = CostRange;

/// Upstream's units: about 50 ns each on the machine on which they were measured.
namespace costs {
inline constexpr std::uint64_t Select = 1, List = 10, Map = 30, Object = 40;
inline constexpr double Traversal = 0.1;  ///< for each character of a text that is read once
inline constexpr double Regex = 0.25;     ///< for each character of a pattern
}  // namespace costs

}  // namespace porthole::cel
