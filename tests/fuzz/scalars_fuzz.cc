// The small texts of the API and of files: no input crashes, and what is read can be written and read again to the same.
#include <cstdint>
#include <cstdlib>

#include "base/base64.h"
#include "base/time/cron_schedule.h"
#include "base/time/time.h"
#include "base/time/time_zone.h"
#include "base/values/int_or_string.h"
#include "base/values/ip.h"

using namespace porthole;

namespace {

template <class T>
void round_trip(std::string_view text) {
    const auto read = T::parse(text);
    if (!read || read->to_string().empty()) return;  // Go's zero time has no text
    const auto again = T::parse(read->to_string());
    if (!again || !(*again == *read)) std::abort();
}

void time_zone(std::string_view text) {
    const auto zone = TimeZone::parse(text);
    if (!zone) return;
    for (const std::int64_t seconds : {-10'000'000'000, 0L, 1'700'000'000L, 10'000'000'000L})
        static_cast<void>(zone->offset_at(TimeZone::Seconds(std::chrono::seconds(seconds))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    round_trip<IpAddress>(text);
    round_trip<IpPrefix>(text);
    round_trip<Timestamp>(text);
    round_trip<MicroTimestamp>(text);
    if (const auto duration = parse_duration(text)) {
        const auto again = parse_duration(format_duration(*duration));
        if (!again || *again != *duration) std::abort();
        static_cast<void>(format_age(*duration));
    }
    if (const auto schedule = CronSchedule::parse(text)) {
        const CronSchedule::Seconds after(std::chrono::seconds(1'700'000'000));
        if (const auto next = schedule->next(after); next && *next <= after) std::abort();
    }
    static_cast<void>(IntOrString(std::string(text)).scaled(2'000'000'000, true));
    time_zone(text);
    return 0;
}
