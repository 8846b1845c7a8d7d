#include "schema/structural/string_formats.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "base/base64.h"
#include "base/time/time.h"
#include "base/values/ip.h"

namespace porthole::schema {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool fits(std::string_view text, std::string_view picture) {
    if (text.size() != picture.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (picture[i] == '0' ? !is_digit(text[i]) : picture[i] == 'x' ? !is_hex(text[i]) : text[i] != picture[i]) return false;
    }
    return true;
}

int number_at(std::string_view text, std::size_t at, std::size_t digits) {
    int number = 0;
    for (std::size_t i = at; i < at + digits; ++i) number = number * 10 + (text[i] - '0');
    return number;
}

bool is_date(std::string_view text) {
    if (!fits(text, "0000-00-00")) return false;
    const int year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2);
    constexpr int Days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1) return false;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= Days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/// RFC 3339; seconds and the offset may be missing, as in upstream's list of layouts.
bool is_date_time(std::string_view text) {
    if (text.size() < 16 || !is_date(text.substr(0, 10)) || (text[10] != 'T' && text[10] != 't')) return false;
    text.remove_prefix(11);
    if (!fits(text.substr(0, 5), "00:00") || number_at(text, 0, 2) > 23 || number_at(text, 3, 2) > 59) return false;
    text.remove_prefix(5);
    if (text.starts_with(':')) {
        if (text.size() < 3 || !fits(text.substr(0, 3), ":00") || number_at(text, 1, 2) > 60) return false;
        text.remove_prefix(3);
        if (text.starts_with('.')) {
            const std::size_t digits = std::find_if_not(text.begin() + 1, text.end(), is_digit) - text.begin();
            if (digits == 1) return false;
            text.remove_prefix(digits);
        }
    }
    if (text.empty() || text == "Z" || text == "z") return true;
    if (text[0] != '+' && text[0] != '-') return false;
    return fits(text.substr(1), "00:00") || fits(text.substr(1), "0000");
}

bool is_ip(std::string_view text, bool v6) {
    const auto address = IpAddress::parse(text);
    return address && text.contains(':') == v6;
}
bool is_ipv4(std::string_view text) { return is_ip(text, false); }
bool is_ipv6(std::string_view text) { return is_ip(text, true); }

/// An address and a length; unlike in the API's own fields, bits beyond the length may be set.
bool is_cidr(std::string_view text) {
    const std::size_t slash = text.rfind('/');
    if (slash == std::string_view::npos || !IpAddress::parse(text.substr(0, slash))) return false;
    const std::string_view length = text.substr(slash + 1);
    if (length.empty() || length.size() > 3 || !std::ranges::all_of(length, is_digit)) return false;
    if (length.size() > 1 && length[0] == '0') return false;
    return number_at(length, 0, length.size()) <= (text.contains(':') ? 128 : 32);
}

bool is_mac(std::string_view text) {
    for (const std::size_t bytes : {6, 8, 20}) {
        for (const char separator : {':', '-'}) {
            std::string picture;
            for (std::size_t i = 0; i < bytes; ++i) picture += (i > 0 ? std::string(1, separator) : "") + "xx";
            if (fits(text, picture)) return true;
        }
        std::string picture;
        for (std::size_t i = 0; i < bytes / 2; ++i) picture += i > 0 ? ".xxxx" : "xxxx";
        if (fits(text, picture)) return true;
    }
    return false;
}

constexpr std::string_view DashedUuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// With dashes or without.
std::string dashed(std::string_view text) {
    if (text.size() != 32) return std::string(text);
    std::string result(text);
    for (const std::size_t at : {8, 13, 18, 23}) result.insert(at, "-");
    return result;
}
bool is_uuid(std::string_view text) { return fits(dashed(text), DashedUuid); }
template <char Version>
bool is_uuid_version(std::string_view text) {
    const std::string uuid = dashed(text);
    return fits(uuid, DashedUuid) && uuid[14] == Version && (Version == '3' || std::string_view("89abAB").contains(uuid[19]));
}

bool is_hostname(std::string_view text) {
    if (text.empty() || text.size() > 255) return false;
    while (true) {
        const std::string_view label = text.substr(0, text.find('.'));
        if (label.empty() || label.size() > 63 || !is_alnum(label.front()) || !is_alnum(label.back())) return false;
        if (!std::ranges::all_of(label, [](char c) { return is_alnum(c) || c == '-' || c == '_'; })) return false;
        if (label.size() == text.size()) return true;
        text.remove_prefix(label.size() + 1);
        if (text.empty()) return true;  // a dot at the end
    }
}

bool is_email(std::string_view text) {
    const std::size_t at = text.rfind('@');
    if (at == std::string_view::npos || at == 0 || text.size() > 320) return false;
    const bool printable = std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '<' || c == '>'; });
    return printable && is_hostname(text.substr(at + 1)) && !text.substr(0, at).contains('@');
}

/// What has a scheme, or begins with a slash.
bool is_uri(std::string_view text) {
    if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; })) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '%' && (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2]))) return false;
    if (text.starts_with('/')) return true;
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0 || !std::isalpha(static_cast<unsigned char>(text[0]))) return false;
    return std::ranges::all_of(text.substr(0, colon), [](char c) { return is_alnum(c) || c == '+' || c == '-' || c == '.'; });
}

bool is_bytes(std::string_view text) { return !text.empty() && decode_base64(text).has_value(); }

/// Go's durations, and upstream's words for longer ones: "3 days", "1 hour".
bool is_duration(std::string_view text) {
    if (parse_duration(text)) return true;
    std::size_t at = 0;
    const auto skip = [&](auto which) {
        const std::size_t begin = at;
        while (at < text.size() && which(text[at])) ++at;
        return text.substr(begin, at - begin);
    };
    const auto is_space = [](char c) { return c == ' '; };
    skip(is_space);
    if (skip(is_digit).empty()) return false;
    skip(is_space);
    const std::string_view unit = skip([](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
    constexpr std::string_view Units[] = {"ns",          "nano", "nanosecond", "us",     "micro", "microsecond", "ms",     "milli",
                                          "millisecond", "s",    "sec",        "second", "m",     "min",         "minute", "h",
                                          "hr",          "hour", "d",          "day",    "w",     "wk",          "week"};
    std::string_view singular = unit;
    if (singular.size() > 2 && singular.ends_with('s')) singular.remove_suffix(1);
    return at == text.size() && std::ranges::any_of(Units, [&](std::string_view known) { return known == unit || known == singular; });
}

bool is_object_id(std::string_view text) { return fits(text, "xxxxxxxxxxxxxxxxxxxxxxxx"); }
bool is_hex_color(std::string_view text) {
    if (text.starts_with('#')) text.remove_prefix(1);
    return fits(text, "xxx") || fits(text, "xxxxxx");
}

bool is_rgb_color(std::string_view text) {
    if (!text.starts_with("rgb(") || !text.ends_with(')')) return false;
    text = text.substr(4, text.size() - 5);
    for (int part = 0; part < 3; ++part) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view number = text.substr(0, comma);
        while (number.starts_with(' ')) number.remove_prefix(1);
        while (number.ends_with(' ')) number.remove_suffix(1);
        if (number.empty() || number.size() > 3 || !std::ranges::all_of(number, is_digit) || number_at(number, 0, number.size()) > 255)
            return false;
        if ((part < 2) != (comma < text.size())) return false;
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return true;
}

std::string without_separators(std::string_view text) {
    std::string digits;
    for (const char c : text)
        if (c != ' ' && c != '-') digits += c;
    return digits;
}

bool is_isbn10(std::string_view text) {
    const std::string digits = without_separators(text);
    if (digits.size() != 10) return false;
    int sum = 0;
    for (int i = 0; i < 10; ++i) {
        const bool ten = i == 9 && (digits[9] == 'X' || digits[9] == 'x');
        if (!ten && !is_digit(digits[i])) return false;
        sum += (i + 1) * (ten ? 10 : digits[i] - '0');
    }
    return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
    const std::string digits = without_separators(text);
    if (digits.size() != 13 || !std::ranges::all_of(digits, is_digit)) return false;
    int sum = 0;
    for (int i = 0; i < 13; ++i) sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
    return sum % 10 == 0;
}
bool is_isbn(std::string_view text) { return is_isbn10(text) || is_isbn13(text); }

/// By the sum of Luhn.
bool is_credit_card(std::string_view text) {
    const std::string digits = without_separators(text);
    if (digits.size() < 13 || digits.size() > 19 || !std::ranges::all_of(digits, is_digit)) return false;
    int sum = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        int digit = digits[digits.size() - 1 - i] - '0';
        if (i % 2 == 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
        sum += digit;
    }
    return sum % 10 == 0;
}

bool is_social_security_number(std::string_view text) { return fits(text, "000-00-0000") || fits(text, "000 00 0000"); }
bool is_password(std::string_view) { return true; }

}  // namespace

StringFormat find_string_format(std::string_view name) {
    static const std::map<std::string_view, StringFormat> formats{
        {"bsonobjectid", is_object_id},
        {"byte", is_bytes},
        {"cidr", is_cidr},
        {"creditcard", is_credit_card},
        {"date", is_date},
        {"date-time", is_date_time},
        {"datetime", is_date_time},
        {"duration", is_duration},
        {"email", is_email},
        {"hexcolor", is_hex_color},
        {"hostname", is_hostname},
        {"ipv4", is_ipv4},
        {"ipv6", is_ipv6},
        {"isbn", is_isbn},
        {"isbn10", is_isbn10},
        {"isbn13", is_isbn13},
        {"mac", is_mac},
        {"password", is_password},
        {"rgbcolor", is_rgb_color},
        {"uri", is_uri},
        {"ssn", is_social_security_number},
        {"uuid", is_uuid},
        {"uuid3", is_uuid_version<'3'>},
        {"uuid4", is_uuid_version<'4'>},
        {"uuid5", is_uuid_version<'5'>},
    };
    const auto found = formats.find(name);
    return found == formats.end() ? nullptr : found->second;
}

}  // namespace porthole::schema
