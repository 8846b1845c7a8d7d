// Values as text and as JSON.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "base/base64.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "cel/values/value.h"

namespace porthole::cel {
namespace {

constexpr std::int64_t FirstSecond = -62135596800, LastSecond = 253402300799;  // of year 1, of year 9999

/// Reads `digits` digits of `text`; -1 where there are others.
int read_digits(std::string_view& text, std::size_t digits) {
    int number = 0;
    if (text.size() < digits) return -1;
    for (std::size_t i = 0; i < digits; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        number = number * 10 + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return number;
}

bool skip(std::string_view& text, char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
}

/// "Z" or "+01:00", in seconds.
std::optional<int> read_offset(std::string_view text) {
    if (text == "Z") return 0;
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-')) return {};
    const int sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
    const int hours = read_digits(text, 2);
    if (!skip(text, ':')) return {};
    const int minutes = read_digits(text, 2);
    if (hours < 0 || hours > 24 || minutes < 0 || minutes > 60) return {};
    return sign * (hours * 3600 + minutes * 60);
}

std::string fraction_text(std::int64_t nanos) {
    if (nanos == 0) return {};
    std::string digits = fmt::format(".{:09}", nanos);
    while (digits.back() == '0') digits.pop_back();
    return digits;
}

std::string seconds_text(std::int64_t nanos) {
    const std::uint64_t size = nanos < 0 ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
    return fmt::format("{}{}{}s", nanos < 0 ? "-" : "", size / 1'000'000'000,
                       fraction_text(static_cast<std::int64_t>(size % 1'000'000'000)));
}

}  // namespace

bool Moment::in_range() const { return seconds >= FirstSecond && seconds <= LastSecond; }

std::string Moment::to_string() const {
    const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       fraction_text(nanos));
}

std::optional<Moment> Moment::parse(std::string_view text) {
    const int year = read_digits(text, 4);
    if (year < 0 || !skip(text, '-')) return {};
    const int month = read_digits(text, 2);
    if (month < 1 || !skip(text, '-')) return {};
    const int day = read_digits(text, 2);
    if (day < 1 || !skip(text, 'T')) return {};
    const int hour = read_digits(text, 2);
    if (hour < 0 || hour > 23 || !skip(text, ':')) return {};
    const int minute = read_digits(text, 2);
    if (minute < 0 || minute > 59 || !skip(text, ':')) return {};
    const int second = read_digits(text, 2);
    if (second < 0 || second > 59) return {};
    Moment moment;
    if (!text.empty() && (text.front() == '.' || text.front() == ',')) {
        text.remove_prefix(1);
        std::size_t digits = 0;
        for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits, text.remove_prefix(1)) {
            if (digits < 9) moment.nanos = moment.nanos * 10 + (text.front() - '0');
        }
        if (digits == 0) return {};
        for (; digits < 9; ++digits) moment.nanos *= 10;
    }
    const std::optional<int> offset = read_offset(text);
    const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day)));
    if (!offset || !date.ok()) return {};
    moment.seconds =
        std::chrono::sys_days(date).time_since_epoch().count() * std::int64_t{86400} + hour * 3600 + minute * 60 + second - *offset;
    return moment.in_range() ? std::optional(moment) : std::nullopt;
}

/// As Go's strconv writes it with format 'g' and the fewest digits.
std::string double_text(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
    const std::string_view scientific(buffer, static_cast<std::size_t>(end - buffer));
    int exponent = 0;
    std::from_chars(scientific.data() + scientific.find('e') + (scientific[scientific.find('e') + 1] == '+' ? 2 : 1), end, exponent);
    if (exponent < -4 || exponent >= 6) return std::string(scientific);
    const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
    return {buffer, fixed};
}

std::string Value::to_string() const {
    switch (kind_) {
        case Kind::Null:
            return "null";
        case Kind::Bool:
            return as_bool() ? "true" : "false";
        case Kind::Int:
            return fmt::format("{}", as_int());
        case Kind::Uint:
            return fmt::format("{}", as_uint());
        case Kind::Double:
            return double_text(as_double());
        case Kind::String:
        case Kind::Bytes:
        case Kind::Error:
            return std::string(as_text());
        case Kind::Timestamp:
            return as_moment().to_string();
        case Kind::Duration:
            return seconds_text(as_nanos());
        case Kind::Type:
            return as_type()->name;
        case Kind::Opaque:
            return as_opaque().text();
        default:
            break;
    }
    std::string text;
    write(text);
    if (text.size() <= LongestText) return text;
    std::size_t end = LongestText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
    return text + "...";
}

void Value::write(std::string& text) const {
    if (text.size() > LongestText) return;
    switch (kind_) {
        case Kind::String:
        case Kind::Bytes:
            text += as_text().substr(0, LongestText + 1);
            break;
        case Kind::Optional:
            if (!has_value()) {
                text += "optional.none()";
                break;
            }
            text += "optional(";
            content().write(text);
            text += ")";
            break;
        case Kind::List:
            text += "[";
            for (std::size_t i = 0; i < count() && text.size() <= LongestText; ++i) {
                if (i) text += ", ";
                item(i).write(text);
            }
            text += "]";
            break;
        case Kind::Map:
        case Kind::Object:
            text += "{";
            for (std::size_t i = 0; i < count() && text.size() <= LongestText; ++i) {
                const Entry one = entry(i);
                if (i) text += ", ";
                one.first.write(text);
                text += ": ";
                one.second.write(text);
            }
            text += "}";
            break;
        default:
            text += to_string();
    }
}

std::optional<schema::Value> Value::to_tree() const {
    Work work({.bytes = LargestTree});
    return to_tree(work);
}

std::optional<schema::Value> Value::to_tree(Work& work) const {
    const bool is_text = kind_ == Kind::String || kind_ == Kind::Bytes;
    if (is_lazy_ || !work.make(sizeof(schema::Value) + (is_text ? as_text().size() : 0))) return {};
    switch (kind_) {
        case Kind::Null:
            return schema::Value();
        case Kind::Bool:
            return schema::Value(as_bool());
        case Kind::Int:
            return schema::Value(as_int());
        case Kind::Uint:
            if (as_uint() > INT64_MAX) return schema::Value(static_cast<double>(as_uint()));
            return schema::Value(static_cast<std::int64_t>(as_uint()));
        case Kind::Double:
            return schema::Value(as_double());
        case Kind::String:
            return schema::Value(as_text());
        case Kind::Bytes:
            return schema::Value(encode_base64(as_text()));
        case Kind::Timestamp:
            return schema::Value(as_moment().to_string());
        case Kind::Duration:
            return schema::Value(seconds_text(as_nanos()));
        case Kind::Optional:
            return has_value() ? content().to_tree(work) : schema::Value();
        case Kind::List: {
            schema::Array items;
            for (std::size_t i = 0; i < count(); ++i) {
                auto one = item(i).to_tree(work);
                if (!one) return {};
                items.push_back(*std::move(one));
            }
            return schema::Value(std::move(items));
        }
        case Kind::Map:
        case Kind::Object: {
            schema::Object members;
            for (std::size_t i = 0; i < count(); ++i) {
                const Entry one = entry(i);
                auto value = one.second.to_tree(work);
                if (!value) return {};
                std::string key = one.first.to_string();
                if (!work.make(key.size())) return {};
                // A view's members keep the names that they have in JSON.
                if (is_view_) key = (data_.tree->as_object().begin() + static_cast<std::ptrdiff_t>(i))->key;
                if (kind_ == Kind::Object && type()->object) {
                    if (const ObjectField* field = type()->object->find(key); field && !type()->object->is_open) key = field->property;
                }
                members[key] = *std::move(value);
            }
            return schema::Value(std::move(members));
        }
        default:
            return {};
    }
}

}  // namespace porthole::cel
