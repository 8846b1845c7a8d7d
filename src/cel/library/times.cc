// The parts of points in time, in UTC or another zone, and of durations.
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/time/time_zone.h"
#include "cel/library/libraries.h"

namespace porthole::cel::times_library {
namespace {

using Arguments = std::span<const Value>;

constexpr std::uint64_t WorkOfReading = 1000;

enum class Part { Year, Month, DayOfYear, DayOfMonth, Date, Weekday, Hours, Minutes, Seconds, Milliseconds };

Value part_of(const Moment& moment, std::int64_t offset, Part part) {
    using namespace std::chrono;
    const sys_seconds local{seconds(moment.seconds + offset)};
    const auto day = floor<days>(local);
    const year_month_day date(day);
    const hh_mm_ss clock(local - day);
    switch (part) {
        case Part::Year:
            return Value::integer(static_cast<int>(date.year()));
        case Part::Month:
            return Value::integer(static_cast<unsigned>(date.month()) - 1);
        case Part::DayOfYear:
            return Value::integer((day - sys_days(date.year() / January / 1)).count());
        case Part::DayOfMonth:
            return Value::integer(static_cast<unsigned>(date.day()) - 1);
        case Part::Date:
            return Value::integer(static_cast<unsigned>(date.day()));
        case Part::Weekday:
            return Value::integer(weekday(day).c_encoding());
        case Part::Hours:
            return Value::integer(clock.hours().count());
        case Part::Minutes:
            return Value::integer(clock.minutes().count());
        case Part::Seconds:
            return Value::integer(clock.seconds().count());
        case Part::Milliseconds:
            break;
    }
    return Value::integer(moment.nanos / 1'000'000);
}

bool read_number(std::string_view text, std::int64_t& number) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && number > -100'000 && number < 100'000;
}

/// "+01:00", in seconds.
std::optional<std::int64_t> fixed_offset(std::string_view text, std::size_t colon) {
    std::int64_t hours = 0, minutes = 0;
    if (!read_number(text.substr(0, colon), hours) || !read_number(text.substr(colon + 1), minutes)) return {};
    if (minutes < 0 || minutes > 59) return {};
    return (hours * 60 + (text.starts_with('-') ? -minutes : minutes)) * 60;
}

/// A name of the system's time zone database. It may not lead out of it.
std::optional<std::int64_t> named_offset(const std::string& name, const Moment& moment, Work& work) {
    if (name.empty() || name == "UTC") return 0;
    if (name.front() == '/' || name.contains("..") || name.contains('\\') || name.size() > 100) return {};
    // Its file is read each time, for a cost of one.
    if (!work.look(WorkOfReading)) return {};
    const std::string path = "/usr/share/zoneinfo/" + name;
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) return {};  // reading a directory throws
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const auto zone = TimeZone::parse(content);
    if (!zone) return {};
    return zone->offset_at(TimeZone::Seconds(std::chrono::seconds(moment.seconds))).count();
}

template <Part Which>
Value utc(Arguments a) {
    return part_of(a[0].as_moment(), 0, Which);
}

template <Part Which>
Value zoned(Arguments a, Work& work) {
    const std::string zone(a[1].as_text());
    const std::size_t colon = zone.find(':');
    const auto offset = colon == std::string::npos ? named_offset(zone, a[0].as_moment(), work) : fixed_offset(zone, colon);
    if (!offset) return Value::error("unknown time zone " + zone);
    return part_of(a[0].as_moment(), *offset, Which);
}

template <std::int64_t Unit>
Value duration_part(Arguments a) {
    return Value::integer(a[0].as_nanos() / Unit);
}

constexpr std::int64_t Milli = 1'000'000, Second = 1000 * Milli, Minute = 60 * Second, Hour = 60 * Minute;

constexpr LibraryFunction Table[] = {
    {"timestamp_to_year = timestamp.getFullYear() -> int", utc<Part::Year>},
    {"timestamp_to_year_with_tz = timestamp.getFullYear(string) -> int", zoned<Part::Year>},
    {"timestamp_to_month = timestamp.getMonth() -> int", utc<Part::Month>},
    {"timestamp_to_month_with_tz = timestamp.getMonth(string) -> int", zoned<Part::Month>},
    {"timestamp_to_day_of_year = timestamp.getDayOfYear() -> int", utc<Part::DayOfYear>},
    {"timestamp_to_day_of_year_with_tz = timestamp.getDayOfYear(string) -> int", zoned<Part::DayOfYear>},
    {"timestamp_to_day_of_month = timestamp.getDayOfMonth() -> int", utc<Part::DayOfMonth>},
    {"timestamp_to_day_of_month_with_tz = timestamp.getDayOfMonth(string) -> int", zoned<Part::DayOfMonth>},
    {"timestamp_to_day_of_month_1_based = timestamp.getDate() -> int", utc<Part::Date>},
    {"timestamp_to_day_of_month_1_based_with_tz = timestamp.getDate(string) -> int", zoned<Part::Date>},
    {"timestamp_to_day_of_week = timestamp.getDayOfWeek() -> int", utc<Part::Weekday>},
    {"timestamp_to_day_of_week_with_tz = timestamp.getDayOfWeek(string) -> int", zoned<Part::Weekday>},
    {"timestamp_to_hours = timestamp.getHours() -> int", utc<Part::Hours>},
    {"timestamp_to_hours_with_tz = timestamp.getHours(string) -> int", zoned<Part::Hours>},
    {"duration_to_hours = duration.getHours() -> int", duration_part<Hour>},
    {"timestamp_to_minutes = timestamp.getMinutes() -> int", utc<Part::Minutes>},
    {"timestamp_to_minutes_with_tz = timestamp.getMinutes(string) -> int", zoned<Part::Minutes>},
    {"duration_to_minutes = duration.getMinutes() -> int", duration_part<Minute>},
    {"timestamp_to_seconds = timestamp.getSeconds() -> int", utc<Part::Seconds>},
    {"timestamp_to_seconds_tz = timestamp.getSeconds(string) -> int", zoned<Part::Seconds>},
    {"duration_to_seconds = duration.getSeconds() -> int", duration_part<Second>},
    {"timestamp_to_milliseconds = timestamp.getMilliseconds() -> int", utc<Part::Milliseconds>},
    {"timestamp_to_milliseconds_with_tz = timestamp.getMilliseconds(string) -> int", zoned<Part::Milliseconds>},
    {"duration_to_milliseconds = duration.getMilliseconds() -> int", duration_part<Milli>},
};

}  // namespace
}  // namespace porthole::cel::times_library

namespace porthole::cel {

std::span<const LibraryFunction> time_functions() { return times_library::Table; }

}  // namespace porthole::cel
