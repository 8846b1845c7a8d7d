#include "base/time/cron_schedule.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time/time.h"

namespace porthole {
namespace {

using namespace std::chrono;

struct Bounds {
    unsigned low, high;
    std::vector<std::string_view> names;  ///< for low, low + 1, ...
};

const std::vector<std::string_view> Months = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
const std::vector<std::string_view> Weekdays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

Error problem(std::string text) { return Error(Reason::BadRequest, std::move(text)); }

Result<unsigned> number(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return problem(fmt::format("failed to parse int from {0}: strconv.Atoi: parsing \"{0}\": invalid syntax", text));
    if (value < 0) return problem(fmt::format("negative number ({}) not allowed: {}", value, text));
    return static_cast<unsigned>(value);
}

Result<unsigned> number_or_name(std::string_view text, const Bounds& bounds) {
    const auto found = std::ranges::find(bounds.names, to_lower(text));
    if (found != bounds.names.end()) return bounds.low + static_cast<unsigned>(found - bounds.names.begin());
    return number(text);
}

}  // namespace

struct CronParser {
    using Field = CronSchedule::Field;

    static Result<Field> field(std::string_view text, const Bounds& bounds) {
        Field field;
        for (const std::string_view part : split_views(text, ',')) {
            if (part.empty()) continue;
            TRY_VOID(range(part, bounds, field));
        }
        return field;
    }

    /// "*", "5", "1-5" or "x/step".
    static Result<void> range(std::string_view text, const Bounds& bounds, Field& field) {
        const auto with_step = split_views(text, '/');
        const auto ends = split_views(with_step[0], '-');
        unsigned low = bounds.low, high = bounds.high, step = 1;
        bool any = false;
        if (ends[0] == "*" || ends[0] == "?") {
            any = true;
        } else {
            TRY(low, number_or_name(ends[0], bounds));
            if (ends.size() > 2) return problem(fmt::format("too many hyphens: {}", text));
            high = low;
            if (ends.size() == 2) {
                TRY(high, number_or_name(ends[1], bounds));
            }
        }
        if (with_step.size() > 2) return problem(fmt::format("too many slashes: {}", text));
        if (with_step.size() == 2) {
            TRY(step, number(with_step[1]));
            if (ends.size() == 1) high = bounds.high;  // "5/15" goes on to the end
            if (step > 1) any = false;
        }
        if (low < bounds.low) return problem(fmt::format("beginning of range ({}) below minimum ({}): {}", low, bounds.low, text));
        if (high > bounds.high) return problem(fmt::format("end of range ({}) above maximum ({}): {}", high, bounds.high, text));
        if (low > high) return problem(fmt::format("beginning of range ({}) beyond end of range ({}): {}", low, high, text));
        if (step == 0) return problem(fmt::format("step of range should be a positive number: {}", text));
        for (unsigned value = low; value <= high; value += step) field.bits |= std::uint64_t{1} << value;
        field.any = field.any || any;
        return {};
    }

    static Result<CronSchedule> fields(std::string_view text) {
        const std::vector<std::string> parts = split_nonempty(text, ' ');
        if (parts.size() != 5) return problem(fmt::format("expected exactly 5 fields, found {}: [{}]", parts.size(), join(parts, " ")));
        CronSchedule schedule;
        TRY(schedule.minute_, field(parts[0], {0, 59, {}}));
        TRY(schedule.hour_, field(parts[1], {0, 23, {}}));
        TRY(schedule.day_, field(parts[2], {1, 31, {}}));
        TRY(schedule.month_, field(parts[3], {1, 12, Months}));
        TRY(schedule.weekday_, field(parts[4], {0, 6, Weekdays}));
        return schedule;
    }

    static Result<CronSchedule> macro(std::string_view text) {
        if (text == "@yearly" || text == "@annually") return fields("0 0 1 1 *");
        if (text == "@monthly") return fields("0 0 1 * *");
        if (text == "@weekly") return fields("0 0 * * 0");
        if (text == "@daily" || text == "@midnight") return fields("0 0 * * *");
        if (text == "@hourly") return fields("0 * * * *");
        constexpr std::string_view Every = "@every ";
        if (!text.starts_with(Every)) return problem(fmt::format("unrecognized descriptor: {}", text));
        const auto period = parse_duration(text.substr(Every.size()));
        if (!period) return problem(fmt::format("failed to parse duration {}: {}", text, period.error().message));
        CronSchedule schedule;
        schedule.every_ = std::max(floor<seconds>(*period), seconds(1));
        return schedule;
    }
};

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
    if (text.empty()) return problem("empty spec string");
    return text.starts_with('@') ? CronParser::macro(text) : CronParser::fields(text);
}

bool CronSchedule::day_fits(year_month_day date) const {
    const bool by_month = day_.has(static_cast<unsigned>(date.day()));
    const bool by_week = weekday_.has(weekday(sys_days(date)).c_encoding());
    return day_.any || weekday_.any ? by_month && by_week : by_month || by_week;
}

std::optional<CronSchedule::Seconds> CronSchedule::next(Seconds after, const UtcOffset& offset) const {
    if (every_ > seconds(0)) return after + every_;
    const auto offset_at = [&](Seconds time) { return offset ? offset(time) : seconds(0); };
    // Days and times as local clocks show them, written as if they were UTC.
    const Seconds local = after + offset_at(after);
    const sys_days first = floor<days>(local);
    for (sys_days day = first; day < first + days(5 * 366); day += days(1)) {
        const year_month_day date(day);
        if (!month_.has(static_cast<unsigned>(date.month())) || !day_fits(date)) continue;
        for (unsigned h = 0; h < 24; ++h) {
            if (!hour_.has(h)) continue;
            for (unsigned m = 0; m < 60; ++m) {
                if (!minute_.has(m)) continue;
                const Seconds wanted = Seconds(day) + hours(h) + minutes(m);
                const Seconds guess = wanted - offset_at(wanted);
                const Seconds time = wanted - offset_at(guess);
                if (time > after && time + offset_at(time) == wanted) return time;
            }
        }
    }
    return std::nullopt;
}

}  // namespace porthole
