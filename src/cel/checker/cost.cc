#include "cel/checker/cost.h"

#include <algorithm>
#include <cmath>

namespace porthole::cel {

std::uint64_t cost_sum(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
std::uint64_t cost_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
std::uint64_t cost_scaled(std::uint64_t size, double factor) {
    const double scaled = std::ceil(static_cast<double>(size) * factor);
    return scaled >= 18446744073709551615.0 ? UINT64_MAX : static_cast<std::uint64_t>(scaled);
}

CostRange CostRange::operator+(const CostRange& other) const { return {cost_sum(min, other.min), cost_sum(max, other.max)}; }
CostRange CostRange::operator*(const CostRange& other) const { return {cost_product(min, other.min), cost_product(max, other.max)}; }
CostRange CostRange::scaled(double factor) const { return {cost_scaled(min, factor), cost_scaled(max, factor)}; }
CostRange CostRange::united(const CostRange& other) const { return {std::min(min, other.min), std::max(max, other.max)}; }

}  // namespace porthole::cel
