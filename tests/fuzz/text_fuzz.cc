// Small texts of many origins: fields of objects, files of a machine, headers.
#include "base/base64.h"
#include "base/time/cron_schedule.h"
#include "base/time/time.h"
#include "base/time/time_zone.h"
#include "base/values/int_or_string.h"
#include "base/values/ip.h"
#include "controllers/job/index_set.h"
#include "fuzz_target.h"
#include "runtime/files/mounts.h"
#include "runtime/processes/windows_command_line.h"

using namespace porthole;
using namespace porthole::fuzz;

namespace {

template <class T>
void reads_what_it_writes(std::string_view text) {
    const auto value = T::parse(text);
    if (!value) return;
    const auto again = T::parse(value->to_string());
    expect(again && *again == *value);
}

}  // namespace

FUZZ_TARGET(base64_fuzz) {
    if (const auto bytes = decode_base64(text)) expect(*decode_base64(encode_base64(*bytes)) == *bytes);
    if (const auto bytes = decode_base64url(text)) expect(*decode_base64url(encode_base64url(*bytes)) == *bytes);
    expect(*decode_base64(encode_base64(text)) == text);
    expect(*decode_base64url(encode_base64url(text)) == text);
}

/// A schedule that has a next time has it after the one before.
FUZZ_TARGET(cron_fuzz) {
    const auto schedule = CronSchedule::parse(text);
    if (!schedule) return;
    CronSchedule::Seconds at(std::chrono::seconds(1'709'164'799));
    for (int i = 0; i < 3; ++i) {
        const auto next = schedule->next(at);
        if (!next) return;
        expect(*next > at);
        at = *next;
    }
}

FUZZ_TARGET(time_zone_fuzz) {
    const auto zone = TimeZone::parse(text);
    if (!zone) return;
    for (const std::int64_t second :
         {std::int64_t{-5'000'000'000}, std::int64_t{0}, std::int64_t{1'700'000'000}, std::int64_t{9'000'000'000}}) {
        static_cast<void>(zone->offset_at(TimeZone::Seconds(std::chrono::seconds(second))));
    }
}

FUZZ_TARGET(duration_fuzz) {
    const auto duration = parse_duration(text);
    if (!duration) return;
    const auto again = parse_duration(format_duration(*duration));
    expect(again && *again == *duration);
}

FUZZ_TARGET(int_or_string_fuzz) {
    const IntOrString amount{std::string(text)};
    const auto down = amount.scaled(100, false), up = amount.scaled(100, true);
    expect(down.has_value() == up.has_value());
    if (down) expect(*down <= *up);
}

FUZZ_TARGET(ip_address_fuzz) { reads_what_it_writes<IpAddress>(text); }
FUZZ_TARGET(ip_prefix_fuzz) { reads_what_it_writes<IpPrefix>(text); }

FUZZ_TARGET(mount_points_fuzz) {
    const auto points = parse_mount_points(text);
    expect(mounts_in(points, "/").size() <= points.size());
}

FUZZ_TARGET(command_line_fuzz) {
    for (const std::string& word : split_windows_command_line(text)) expect(word.size() <= text.size());
}

FUZZ_TARGET(completed_indexes_fuzz) {
    const auto set = controllers::IndexSet::parse(text, 1000);
    expect(controllers::IndexSet::parse(set.to_string(), 1000) == set);
    expect(set.size() >= 0 && set.size() <= 1000);
}
