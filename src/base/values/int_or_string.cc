#include "base/values/int_or_string.h"

#include <charconv>
#include <limits>

namespace porthole {

std::string IntOrString::to_string() const { return is_string_ ? text_ : std::to_string(number_); }

Result<std::int32_t> IntOrString::scaled(std::int32_t total, bool round_up) const {
    if (!is_string_) return number_;
    const auto malformed = [](const char* why) {
        return Error(Reason::BadRequest, "invalid value for IntOrString: invalid type: " + std::string(why));
    };
    if (!text_.ends_with('%')) return malformed("string is not a percentage");
    std::int64_t percent = 0;
    const char* end = text_.data() + text_.size() - 1;
    const auto [stop, error] = std::from_chars(text_.data(), end, percent);
    if (error != std::errc() || stop != end || percent > 1'000'000'000 || percent < -1'000'000'000)
        return malformed("string is not a percentage");
    const std::int64_t product = percent * total;
    std::int64_t result = product / 100;
    if (round_up && product % 100 > 0) ++result;
    if (!round_up && product % 100 < 0) --result;
    using Limits = std::numeric_limits<std::int32_t>;
    if (result > Limits::max() || result < Limits::min()) return malformed("percentage is out of range");
    return static_cast<std::int32_t>(result);
}

}  // namespace porthole
