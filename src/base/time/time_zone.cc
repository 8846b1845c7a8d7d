#include "base/time/time_zone.h"

#include <algorithm>

namespace porthole {

using namespace std::chrono;

namespace {

constexpr std::size_t HeaderSize = 44;

Error malformed() { return Error(Reason::BadRequest, "not a time zone file"); }

}  // namespace

struct TimeZoneParser {
    std::string_view rest;

    std::int64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(rest[i]);
        rest.remove_prefix(bytes);
        return bytes == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
    }

    struct Header {
        char version = 0;
        std::size_t utc = 0, standard = 0, leaps = 0, times = 0, types = 0, letters = 0;
        std::size_t body(std::size_t time_size) const {
            return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standard + utc;
        }
    };
    Result<Header> header() {
        if (rest.size() < HeaderSize || !rest.starts_with("TZif")) return malformed();
        Header header;
        header.version = rest[4];
        rest.remove_prefix(20);
        for (std::size_t* count : {&header.utc, &header.standard, &header.leaps, &header.times, &header.types, &header.letters}) {
            const std::int64_t value = number(4);
            if (value < 0 || value > 100'000) return malformed();
            *count = static_cast<std::size_t>(value);
        }
        if (header.types == 0) return malformed();
        return header;
    }

    Result<void> changes(const Header& header, std::size_t time_size, TimeZone& zone) {
        if (rest.size() < header.body(time_size)) return malformed();
        const std::string_view after = rest.substr(header.body(time_size));
        zone.changes_.resize(header.times);
        for (auto& change : zone.changes_) change.time = number(time_size);
        const std::string_view type_of = rest.substr(0, header.times);
        rest.remove_prefix(header.times);
        std::vector<std::int32_t> offsets(header.types);
        for (std::int32_t& offset : offsets) {
            offset = static_cast<std::int32_t>(number(4));
            rest.remove_prefix(2);
        }
        for (std::size_t i = 0; i < header.times; ++i) {
            const auto type = static_cast<unsigned char>(type_of[i]);
            if (type >= offsets.size()) return malformed();
            zone.changes_[i].offset = offsets[type];
        }
        zone.before_ = offsets[0];
        rest = after;
        return {};
    }

    // The rule after the last change, in POSIX' form.
    bool take(char c) {
        if (!rest.starts_with(c)) return false;
        rest.remove_prefix(1);
        return true;
    }
    bool name() {
        const bool quoted = take('<');
        const std::size_t length = quoted ? rest.find('>') : rest.find_first_of("+-0123456789,\n");
        if (length == rest.npos || length == 0) return false;
        rest.remove_prefix(length + (quoted ? 1 : 0));
        return true;
    }
    unsigned digits() {
        unsigned value = 0;
        for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1))
            value = value * 10 + static_cast<unsigned>(rest[0] - '0');
        return value;
    }
    /// "-3:30"
    seconds clock() {
        const bool minus = take('-');
        if (!minus) take('+');
        seconds time = hours(digits());
        if (take(':')) time += minutes(digits());
        if (take(':')) time += seconds(digits());
        return minus ? -time : time;
    }
    std::optional<TimeZone::ChangeRule> change_rule() {
        TimeZone::ChangeRule rule;
        if (!take(',') || !take('M')) return std::nullopt;
        rule.month = digits();
        if (!take('.')) return std::nullopt;
        rule.week = digits();
        if (!take('.')) return std::nullopt;
        rule.weekday = digits();
        rule.at = take('/') ? clock() : seconds(hours(2));
        const bool fits = rule.month >= 1 && rule.month <= 12 && rule.week >= 1 && rule.week <= 5 && rule.weekday <= 6;
        return fits ? std::optional(rule) : std::nullopt;
    }
    /// nullopt for none, and for forms that no zone uses any more (days counted through the year).
    std::optional<TimeZone::Rule> rule() {
        TimeZone::Rule rule;
        const bool begun = take('\n') && name();
        if (!begun) return std::nullopt;
        rule.standard = -clock();  // POSIX counts westwards
        rule.summer = rule.standard + hours(1);
        if (!name()) return rule;
        if (!rest.starts_with(',')) rule.summer = -clock();
        rule.begins = change_rule();
        rule.ends = change_rule();
        return rule.begins && rule.ends ? std::optional(rule) : std::nullopt;
    }
};

Result<TimeZone> TimeZone::parse(std::string_view file) {
    TimeZoneParser parser{file};
    TimeZone zone;
    TRY(auto header, parser.header());
    if (header.version < '2') {
        TRY_VOID(parser.changes(header, 4, zone));
        return zone;
    }
    // The first part is for readers of 32 bits; the same follows with 64.
    if (parser.rest.size() < header.body(4)) return malformed();
    parser.rest.remove_prefix(header.body(4));
    TRY(header, parser.header());
    TRY_VOID(parser.changes(header, 8, zone));
    zone.rule_ = parser.rule();
    return zone;
}

TimeZone::Seconds TimeZone::ChangeRule::in(year year, seconds offset) const {
    const auto month_of = year / std::chrono::month(month);
    const sys_days day =
        week == 5 ? sys_days(month_of / std::chrono::weekday(weekday)[last]) : sys_days(month_of / std::chrono::weekday(weekday)[week]);
    return Seconds(day) + at - offset;
}

seconds TimeZone::by_rule(Seconds time) const {
    if (!rule_->begins) return rule_->standard;
    const year year = year_month_day(floor<days>(time + rule_->standard)).year();
    const Seconds begins = rule_->begins->in(year, rule_->standard), ends = rule_->ends->in(year, rule_->summer);
    // South of the equator summer time spans the turn of the year.
    const bool summer = begins < ends ? begins <= time && time < ends : !(ends <= time && time < begins);
    return summer ? rule_->summer : rule_->standard;
}

seconds TimeZone::offset_at(Seconds time) const {
    const std::int64_t moment = time.time_since_epoch().count();
    const auto next = std::ranges::upper_bound(changes_, moment, {}, &Change::time);
    if (next == changes_.end() && rule_) return by_rule(time);
    return seconds(next == changes_.begin() ? before_ : std::prev(next)->offset);
}

}  // namespace porthole
