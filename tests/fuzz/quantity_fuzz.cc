// Quantities, times and durations: the canonical text reads back to the same amount.
#include <cstdint>
#include <cstdlib>

#include "base/time/time.h"
#include "base/values/quantity.h"

using namespace porthole;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto quantity = Quantity::parse(text)) {
        const auto again = Quantity::parse(quantity->to_string());
        if (!again || *again != *quantity || again->to_string() != quantity->to_string()) std::abort();
    }
    if (const auto time = Timestamp::parse(text); time && !time->is_zero()) {
        const auto again = Timestamp::parse(time->to_string());
        const bool four_digits = time->to_string().size() == 20;  // an offset may lead out of the years 0 to 9999
        if (four_digits && (!again || *again != *time)) std::abort();
    }
    if (const auto duration = parse_duration(text)) {
        const auto again = parse_duration(format_duration(*duration));
        if (!again || *again != *duration) std::abort();
    }
    return 0;
}
