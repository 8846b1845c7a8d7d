#include "base/time/time.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace porthole {
namespace {

using namespace std::chrono;

Error malformed_time(std::string_view text, std::string_view rest, std::string_view wanted) {
    return Error(Reason::BadRequest,
                 fmt::format("parsing time \"{}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{}\" as \"{}\"", text, rest, wanted));
}

/// Reads digits and separators of a time, remembering where it stopped.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : text_(text) {}

    bool number(int digits, int& value) {
        if (rest().size() < static_cast<std::size_t>(digits)) return false;
        int result = 0;
        for (int i = 0; i < digits; ++i) {
            const char c = text_[at_ + i];
            if (c < '0' || c > '9') return false;
            result = result * 10 + (c - '0');
        }
        value = result;
        at_ += digits;
        return true;
    }
    bool literal(char wanted) {
        if (rest().empty() || rest().front() != wanted) return false;
        ++at_;
        return true;
    }
    /// ".123", at most nine digits count.
    bool fraction(std::int64_t& nanos) {
        nanos = 0;
        if (!literal('.')) return true;
        std::int64_t scale = 100'000'000;
        const std::size_t start = at_;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            nanos += (text_[at_] - '0') * scale;
            scale /= 10;
        }
        return at_ > start;
    }
    bool offset(seconds& result) {
        if (literal('Z')) return true;
        const bool negative = !rest().empty() && rest().front() == '-';
        if (!negative && (rest().empty() || rest().front() != '+')) return false;
        ++at_;
        int hour = 0, minute = 0;
        if (!number(2, hour) || !literal(':') || !number(2, minute) || hour > 24 || minute > 59) return false;
        result = hours(hour) + minutes(minute);
        if (negative) result = -result;
        return true;
    }
    std::string_view rest() const { return text_.substr(at_); }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

struct ParsedTime {
    std::int64_t seconds, nanos;
};

Result<ParsedTime> parse_rfc3339(std::string_view text) {
    TimeReader reader(text);
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    const struct {
        int* value;
        int digits;
        const char* name;
        char separator;
    } parts[] = {
        {&year, 4, "2006", '-'}, {&month, 2, "01", '-'},  {&day, 2, "02", 'T'},
        {&hour, 2, "15", ':'},   {&minute, 2, "04", ':'}, {&second, 2, "05", 0},
    };
    for (const auto& part : parts) {
        if (!reader.number(part.digits, *part.value)) return malformed_time(text, reader.rest(), part.name);
        if (part.separator && !reader.literal(part.separator))
            return malformed_time(text, reader.rest(), std::string_view(&part.separator, 1));
    }
    const year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
    const char* out_of_range = month < 1 || month > 12 ? "month"
                               : !date.ok()            ? "day"
                               : hour > 23             ? "hour"
                               : minute > 59           ? "minute"
                               : second > 59           ? "second"
                                                       : nullptr;
    if (out_of_range) {
        return Error(Reason::BadRequest, fmt::format("parsing time \"{}\": {} out of range", text, out_of_range));
    }
    std::int64_t nanos = 0;
    if (!reader.fraction(nanos)) return malformed_time(text, reader.rest(), "Z07:00");
    std::chrono::seconds shift(0);
    if (!reader.offset(shift)) return malformed_time(text, reader.rest(), "Z07:00");
    if (!reader.rest().empty()) {
        return Error(Reason::BadRequest, fmt::format("parsing time \"{}\": extra text: \"{}\"", text, reader.rest()));
    }
    const auto point = sys_seconds(sys_days(date)) + hours(hour) + minutes(minute) + std::chrono::seconds(second) - shift;
    // What the offset moves out of the four digits could be written, but never read again.
    const year_month_day moved(floor<days>(point));
    if (moved.year() < std::chrono::year(0) || moved.year() > std::chrono::year(9999)) {
        return Error(Reason::BadRequest, fmt::format("parsing time \"{}\": year out of range", text));
    }
    return ParsedTime{point.time_since_epoch().count(), nanos};
}

std::string format_seconds(std::int64_t since_epoch) {
    const sys_seconds point{std::chrono::seconds(since_epoch)};
    const auto day = floor<days>(point);
    const year_month_day date(day);
    const hh_mm_ss clock(point - day);
    // By hand, since every object written holds several.
    constexpr std::string_view Rest = "-00-00T00:00:00";
    const int year = static_cast<int>(date.year());
    const bool is_usual = year >= 0 && year <= 9999;
    std::string text;
    text.reserve(sizeof "0000-00-00T00:00:00.000000Z");
    text += is_usual ? "0000" : fmt::format("{:04}", year);
    const std::size_t year_size = text.size();
    text += Rest;
    const auto put = [&](std::size_t at, std::int64_t two_digits) {
        text[at] = static_cast<char>('0' + two_digits / 10);
        text[at + 1] = static_cast<char>('0' + two_digits % 10);
    };
    if (is_usual) {
        put(0, year / 100);
        put(2, year % 100);
    }
    put(year_size + 1, static_cast<unsigned>(date.month()));
    put(year_size + 4, static_cast<unsigned>(date.day()));
    put(year_size + 7, clock.hours().count());
    put(year_size + 10, clock.minutes().count());
    put(year_size + 13, clock.seconds().count());
    return text;
}

}  // namespace

template <class Unit>
Result<WallTime<Unit>> WallTime<Unit>::parse(std::string_view text) {
    TRY(const ParsedTime parsed, parse_rfc3339(text));
    constexpr std::int64_t GoZero = -62135596800;  // 0001-01-01T00:00:00Z
    constexpr std::int64_t per_second = Unit::period::den;
    const std::int64_t fraction = parsed.nanos / (1'000'000'000 / per_second);
    if (parsed.seconds == GoZero && fraction == 0) return WallTime();
    return from_ticks(parsed.seconds * per_second + fraction);
}

template <class Unit>
std::int64_t WallTime<Unit>::seconds() const {
    return is_zero() ? 0 : floor<std::chrono::seconds>(Unit(ticks_)).count();
}

template <class Unit>
std::int32_t WallTime<Unit>::nanoseconds_of_second() const {
    if (is_zero()) return 0;
    const Unit whole(ticks_);
    return static_cast<std::int32_t>(duration_cast<std::chrono::nanoseconds>(whole - floor<std::chrono::seconds>(whole)).count());
}

template <class Unit>
std::int64_t WallTime<Unit>::nanoseconds() const {
    if (is_zero()) return 0;
    constexpr std::int64_t Limit = INT64_MAX / 1'000'000'000 - 1;
    const std::int64_t whole = seconds();
    if (whole > Limit) return INT64_MAX;
    if (whole < -Limit) return INT64_MIN;
    return whole * 1'000'000'000 + nanoseconds_of_second();
}

template <class Unit>
std::string WallTime<Unit>::to_string() const {
    if (is_zero()) return {};
    std::string text = format_seconds(seconds());
    if constexpr (std::is_same_v<Unit, std::chrono::microseconds>) text += fmt::format(".{:06}", nanoseconds_of_second() / 1000);
    return text + "Z";
}

template class WallTime<std::chrono::seconds>;
template class WallTime<std::chrono::microseconds>;

std::string format_duration(std::chrono::nanoseconds duration) {
    const bool negative = duration.count() < 0;
    const std::uint64_t total = negative ? 0 - static_cast<std::uint64_t>(duration.count()) : duration.count();
    if (total == 0) return "0s";
    const auto scaled = [](std::uint64_t nanos, std::uint64_t unit) {
        std::string text = std::to_string(nanos / unit);
        if (std::uint64_t rest = nanos % unit) {
            std::string fraction = fmt::format("{:0{}}", rest, fmt::formatted_size("{}", unit) - 1);
            fraction.resize(fraction.find_last_not_of('0') + 1);
            text += "." + fraction;
        }
        return text;
    };
    std::string text = negative ? "-" : "";
    if (total < 1'000) return text + std::to_string(total) + "ns";
    if (total < 1'000'000) return text + scaled(total, 1'000) + "µs";
    if (total < 1'000'000'000) return text + scaled(total, 1'000'000) + "ms";
    constexpr std::uint64_t Minute = 60'000'000'000, Hour = 60 * Minute;
    if (total >= Hour) text += std::to_string(total / Hour) + "h";
    if (total >= Minute) text += std::to_string(total % Hour / Minute) + "m";
    return text + scaled(total % Minute, 1'000'000'000) + "s";
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    const auto malformed = [text](const char* why = "invalid duration") {
        return Error(Reason::BadRequest, fmt::format("time: {} \"{}\"", why, text));
    };
    std::string_view rest = text;
    const bool negative = rest.starts_with('-');
    if (negative || rest.starts_with('+')) rest.remove_prefix(1);
    if (rest == "0") return std::chrono::nanoseconds(0);
    if (rest.empty()) return malformed();

    static constexpr struct {
        std::string_view name;
        double nanos;
    } Units[] = {
        {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9},
    };
    __extension__ using Int128 = __int128;
    Int128 total = 0;
    while (!rest.empty()) {
        std::int64_t whole = 0;
        double fraction = 0, scale = 0.1;
        std::size_t at = 0, digits = 0;
        for (; at < rest.size() && rest[at] >= '0' && rest[at] <= '9'; ++at, ++digits) {
            if (whole > (INT64_MAX - 9) / 10) return malformed();
            whole = whole * 10 + (rest[at] - '0');
        }
        if (at < rest.size() && rest[at] == '.') {
            for (++at; at < rest.size() && rest[at] >= '0' && rest[at] <= '9'; ++at, ++digits, scale /= 10)
                fraction += (rest[at] - '0') * scale;
        }
        if (digits == 0) return malformed();
        rest.remove_prefix(at);
        const std::size_t unit_end = std::min(rest.find_first_of(".0123456789"), rest.size());
        const std::string_view unit = rest.substr(0, unit_end);
        if (unit.empty()) return malformed("missing unit in duration");
        const auto* found = std::find_if(std::begin(Units), std::end(Units), [&](const auto& u) { return u.name == unit; });
        if (found == std::end(Units)) {
            return Error(Reason::BadRequest, fmt::format("time: unknown unit \"{}\" in duration \"{}\"", unit, text));
        }
        total += static_cast<Int128>(whole) * static_cast<std::int64_t>(found->nanos) + std::llround(fraction * found->nanos);
        if (total > INT64_MAX) return malformed();
        rest.remove_prefix(unit_end);
    }
    const auto result = static_cast<std::int64_t>(total);
    return std::chrono::nanoseconds(negative ? -result : result);
}

std::string format_age(std::chrono::nanoseconds age) {
    const std::int64_t seconds = duration_cast<std::chrono::seconds>(age).count();
    if (seconds < -1) return "<invalid>";
    if (seconds < 0) return "0s";
    if (seconds < 120) return fmt::format("{}s", seconds);
    const auto pair = [](std::int64_t major, char unit, std::int64_t minor, char small) {
        return minor == 0 ? fmt::format("{}{}", major, unit) : fmt::format("{}{}{}{}", major, unit, minor, small);
    };
    const std::int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24, years = days / 365;
    if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
    if (minutes < 180) return fmt::format("{}m", minutes);
    if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
    if (hours < 48) return fmt::format("{}h", hours);
    if (hours < 192) return pair(days, 'd', hours % 24, 'h');
    if (years < 2) return fmt::format("{}d", days);
    if (years < 8) return pair(years, 'y', days % 365, 'd');
    return fmt::format("{}y", years);
}

}  // namespace porthole
