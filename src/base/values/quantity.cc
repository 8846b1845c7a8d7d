#include "base/values/quantity.h"

#include <algorithm>

namespace porthole {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

constexpr std::int64_t Nano = 1'000'000'000;
constexpr Int128 Largest = static_cast<Int128>(INT64_MAX) * Nano;
constexpr const char* WrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr const char* WrongNumber = "unable to parse numeric part of quantity";
constexpr const char* WrongSuffix = "unable to parse quantity's suffix";

struct Suffix {
    std::string_view text;
    int base, exponent;
};
constexpr Suffix Suffixes[] = {
    {"n", 10, -9}, {"u", 10, -6}, {"m", 10, -3}, {"", 10, 0},   {"k", 10, 3},  {"M", 10, 6},  {"G", 10, 9},  {"T", 10, 12},
    {"P", 10, 15}, {"E", 10, 18}, {"Ki", 2, 10}, {"Mi", 2, 20}, {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number's sign, its digits without the point, and how many of them stand behind it.
struct Number {
    bool negative = false;
    std::string digits;
    int decimals = 0;
    std::string_view suffix;
};

Result<Number> split_number(std::string_view text) {
    Number number;
    std::size_t at = 0;
    if (text.empty()) return Error(Reason::BadRequest, WrongFormat);
    if (text[0] == '+' || text[0] == '-') number.negative = text[at++] == '-';
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) number.digits += text[at++];
    if (at < text.size() && text[at] == '.') {
        for (++at; at < text.size() && is_digit(text[at]); ++at, ++number.decimals) number.digits += text[at];
    }
    const bool empty = at == start;
    number.suffix = text.substr(at);
    std::size_t end = std::min(number.suffix.find_first_not_of("eEinumkKMGTP"), number.suffix.size());
    if (end < number.suffix.size() && (number.suffix[end] == '-' || number.suffix[end] == '+')) ++end;
    while (end < number.suffix.size() && is_digit(number.suffix[end])) ++end;
    if (end < number.suffix.size() || empty) return Error(Reason::BadRequest, WrongFormat);
    if (number.digits.empty()) return Error(Reason::BadRequest, WrongNumber);
    return number;
}

struct Scale {
    int base, exponent;
    Quantity::Format format;
};

Result<Scale> interpret_suffix(std::string_view suffix) {
    for (const Suffix& known : Suffixes) {
        if (known.text == suffix)
            return Scale{known.base, known.exponent, known.base == 2 ? Quantity::Format::BinarySi : Quantity::Format::DecimalSi};
    }
    if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
        std::string_view digits = suffix.substr(1);
        const bool negative = digits[0] == '-';
        if (negative || digits[0] == '+') digits.remove_prefix(1);
        if (!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit)) {
            int exponent = 0;  // far beyond every amount stays far beyond
            for (const char c : digits) exponent = std::min(exponent * 10 + (c - '0'), 1000);
            return Scale{10, negative ? -exponent : exponent, Quantity::Format::DecimalExponent};
        }
    }
    return Error(Reason::BadRequest, WrongSuffix);
}

/// digits × 10^exponent × 2^shift in whole nanos: rounded up, cut to `Largest`.
Int128 scale_up(std::string_view digits, int exponent, int shift) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.empty()) return 0;
    // Every digit that stays below one nano even after the shift only decides whether to round up.
    const int places = static_cast<int>(digits.size()) + exponent;
    if (places > 29) return Largest;
    if (places < -19) return 1;
    // 29 places before the point and 39 digits in all fit neither type at once: whole and fraction are scaled apart.
    const auto power10 = [](int n) {
        Uint128 p = 1;
        while (n-- > 0) p *= 10;
        return p;
    };
    const std::string_view whole_digits = digits.substr(0, std::clamp(places, 0, static_cast<int>(digits.size())));
    Uint128 whole = 0;
    for (const char c : whole_digits) whole = whole * 10 + (c - '0');
    if (places > static_cast<int>(digits.size())) whole *= power10(places - static_cast<int>(digits.size()));
    if (shift > 0 && whole > (static_cast<Uint128>(Largest) >> shift)) return Largest;
    whole <<= shift;

    // The fraction 0.d₁d₂… × 2^shift, 18 digits at most exactly, the rest as "something more".
    std::string fraction(std::max(-places, 0), '0');
    fraction += digits.substr(whole_digits.size());
    constexpr std::size_t Exact = 18;
    const bool more = fraction.size() > Exact && fraction.find_first_not_of('0', Exact) != std::string::npos;
    fraction.resize(Exact, '0');
    Uint128 part = 0;
    for (const char c : fraction) part = part * 10 + (c - '0');
    part <<= shift;
    const Uint128 unit = power10(Exact);
    whole += part / unit + (part % unit != 0 || more ? 1 : 0);
    return whole > static_cast<Uint128>(Largest) ? Largest : static_cast<Int128>(whole);
}

std::int64_t round_away(Int128 nanos, std::int64_t unit) {
    Int128 result = nanos / unit;
    if (nanos % unit != 0) result += nanos < 0 ? -1 : 1;
    return static_cast<std::int64_t>(std::clamp<Int128>(result, INT64_MIN, INT64_MAX));
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
    TRY(const Number number, split_number(text));
    TRY(const Scale scale, interpret_suffix(number.suffix));
    const bool binary = scale.base == 2;
    const Int128 amount = scale_up(number.digits, 9 - number.decimals + (binary ? 0 : scale.exponent), binary ? scale.exponent : 0);
    Quantity quantity;
    quantity.format_ = scale.format;
    quantity.assign(number.negative ? -amount : amount);
    return quantity;
}

Quantity Quantity::from_value(std::int64_t whole, Format format) {
    Quantity quantity;
    quantity.format_ = format;
    quantity.assign(static_cast<Int128>(whole) * Nano);
    return quantity;
}

Quantity Quantity::from_nano(std::int64_t billionths, Format format) {
    Quantity quantity;
    quantity.format_ = format;
    quantity.assign(billionths);
    return quantity;
}

Quantity Quantity::from_milli(std::int64_t thousandths, Format format) {
    Quantity quantity;
    quantity.format_ = format;
    quantity.assign(static_cast<Int128>(thousandths) * (Nano / 1000));
    return quantity;
}

void Quantity::assign(Int128 nanos) { nanos_ = std::clamp(nanos, -Largest, Largest); }

std::int64_t Quantity::value() const { return round_away(nanos_, Nano); }
std::int64_t Quantity::milli_value() const { return round_away(nanos_, Nano / 1000); }
std::int64_t Quantity::nano_value() const { return round_away(nanos_, 1); }
double Quantity::as_double() const { return static_cast<double>(nanos_) / Nano; }
bool Quantity::is_whole() const { return nanos_ % Nano == 0; }

Quantity Quantity::rounded_up_to_milli() const { return nanos_ % 1'000'000 == 0 ? *this : from_milli(milli_value(), format_); }

std::string Quantity::to_string() const {
    if (nanos_ == 0) return "0";
    const Int128 whole = nanos_ / Nano;
    const bool small = whole > -1024 && whole < 1024;
    Format format = format_;
    if (format == Format::BinarySi && (small || !is_whole())) format = Format::DecimalSi;

    Uint128 mantissa = nanos_ < 0 ? -nanos_ : nanos_;
    std::string suffix;
    if (format == Format::BinarySi) {
        mantissa /= Nano;
        int exponent = 0;
        while (mantissa % 1024 == 0 && exponent < 60) {
            mantissa /= 1024;
            exponent += 10;
        }
        for (const Suffix& known : Suffixes)
            if (known.base == 2 && known.exponent == exponent) suffix = known.text;
    } else {
        int exponent = -9;
        while (mantissa % 1000 == 0 && exponent < 18) {
            mantissa /= 1000;
            exponent += 3;
        }
        if (format == Format::DecimalExponent) {
            if (exponent != 0) suffix = "e" + std::to_string(exponent);
        } else {
            for (const Suffix& known : Suffixes)
                if (known.base == 10 && known.exponent == exponent) suffix = known.text;
        }
    }
    std::string digits;
    for (; mantissa > 0; mantissa /= 10) digits += static_cast<char>('0' + static_cast<int>(mantissa % 10));
    if (nanos_ < 0) digits += '-';
    return std::string(digits.rbegin(), digits.rend()) + suffix;
}

Quantity& Quantity::operator+=(const Quantity& other) {
    if (is_zero()) format_ = other.format_;
    assign(nanos_ + other.nanos_);
    return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
    if (is_zero()) format_ = other.format_;
    assign(nanos_ - other.nanos_);
    return *this;
}

Quantity Quantity::operator-() const {
    Quantity result = *this;
    result.nanos_ = -nanos_;
    return result;
}

}  // namespace porthole
