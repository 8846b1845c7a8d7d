#include "schema/yaml/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace porthole::schema {
namespace {

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> Nulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> Trues = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
constexpr std::array<std::string_view, 11> Falses = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits with a sign and one of the prefixes 0x, 0b, 0o, 0.
bool parse_integer(std::string_view text, std::int64_t& result) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
        const char mark = text[1];
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
        text.remove_prefix(is_digit(mark) ? 1 : 2);
        if (!is_digit(mark) && base == 8 && mark != 'o' && mark != 'O') return false;
    }
    std::uint64_t magnitude = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
    if (magnitude > static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0)) return false;
    result = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
    return true;
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looks_like_float(std::string_view text) {
    std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    const auto digits = [&] {
        const std::size_t start = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return at - start;
    };
    const std::size_t whole = digits();
    std::size_t fraction = 0;
    if (at < text.size() && text[at] == '.') {
        ++at;
        fraction = digits();
    }
    if (whole == 0 && fraction == 0) return false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
        if (digits() == 0) return false;
    }
    return at == text.size();
}

bool may_be_number(std::string_view text) { return is_digit(text[0]) || text[0] == '-' || text[0] == '+' || text[0] == '.'; }

}  // namespace

Value resolve_yaml_scalar(std::string_view text) {
    if (one_of(text, Nulls)) return {};
    if (one_of(text, Trues)) return true;
    if (one_of(text, Falses)) return false;
    if (!may_be_number(text)) return text;
    std::string plain(text);
    std::erase(plain, '_');
    std::int64_t integer = 0;
    if (parse_integer(plain, integer)) return integer;
    if (looks_like_float(plain)) {
        double number = 0;
        const char* start = plain.data() + (plain[0] == '+' ? 1 : 0);
        const auto [end, error] = std::from_chars(start, plain.data() + plain.size(), number);
        if (error == std::errc() && end == plain.data() + plain.size()) return number;
    }
    return text;
}

}  // namespace porthole::schema
