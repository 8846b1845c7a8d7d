// Conversions between the language's types.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "base/time/time.h"
#include "cel/library/libraries.h"
#include "cel/library/utf8.h"

namespace porthole::cel::conversions_library {
namespace {

using Arguments = std::span<const Value>;

constexpr double TwoTo63 = 9223372036854775808.0, TwoTo64 = 18446744073709551616.0;

Value same(Arguments a) { return a[0]; }
Value failed(std::string_view from, std::string_view to) {
    return Value::error(fmt::format("type conversion error from '{}' to '{}'", from, to));
}
Value failed_text(const char* to) { return failed("string", to); }

template <class Number>
bool parse_number(std::string_view text, Number& number) {
    if (text.starts_with('+') && std::is_signed_v<Number> && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

/// As Go's strconv reads it: also "Inf", "+infinity", "nan", hexadecimal, and digits with underscores not.
bool parse_double(std::string_view text, double& number) {
    std::string_view digits = text;
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    if (equal_ignoring_case(digits, "inf") || equal_ignoring_case(digits, "infinity")) {
        number = negative ? -INFINITY : INFINITY;
        return true;
    }
    if (equal_ignoring_case(digits, "nan")) {
        number = NAN;
        return digits.size() == text.size();
    }
    if (digits.empty() || (!(digits[0] >= '0' && digits[0] <= '9') && digits[0] != '.')) return false;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (negative) number = -number;
    if (read.ptr != digits.data() + digits.size()) return false;
    if (read.ec == std::errc::result_out_of_range) {
        // Too small is zero, too large is an error.
        const std::size_t exponent = digits.find_first_of("eE");
        if (exponent == std::string_view::npos || digits[exponent + 1] != '-') return false;
        number = 0;
        return true;
    }
    return read.ec == std::errc();
}

Value string_to_bool(Arguments a) {
    const std::string_view text = a[0].as_text();
    for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
        if (text == yes) return Value::boolean(true);
    }
    for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
        if (text == no) return Value::boolean(false);
    }
    return failed_text("bool");
}
Value string_to_bytes(Arguments a) { return Value::bytes(std::string(a[0].as_text())); }
Value bytes_to_string(Arguments a) {
    if (!is_utf8(a[0].as_text())) return Value::error("invalid UTF-8 in bytes, cannot convert to string");
    return Value::string(std::string(a[0].as_text()));
}

Value int_to_double(Arguments a) { return Value::real(static_cast<double>(a[0].as_int())); }
Value uint_to_double(Arguments a) { return Value::real(static_cast<double>(a[0].as_uint())); }
Value string_to_double(Arguments a) {
    double number = 0;
    return parse_double(a[0].as_text(), number) ? Value::real(number) : failed_text("double");
}

Value double_to_int(Arguments a) {
    const double number = a[0].as_double();
    if (std::isnan(number) || number <= -TwoTo63 || number >= TwoTo63) return Value::error("integer overflow");
    return Value::integer(static_cast<std::int64_t>(number));
}
Value duration_to_int(Arguments a) { return Value::integer(a[0].as_nanos()); }
Value timestamp_to_int(Arguments a) { return Value::integer(a[0].as_moment().seconds); }
Value string_to_int(Arguments a) {
    std::int64_t number = 0;
    return parse_number(a[0].as_text(), number) ? Value::integer(number) : failed_text("int");
}
Value uint_to_int(Arguments a) {
    return a[0].as_uint() > INT64_MAX ? Value::error("integer overflow") : Value::integer(static_cast<std::int64_t>(a[0].as_uint()));
}

Value double_to_uint(Arguments a) {
    const double number = a[0].as_double();
    if (std::isnan(number) || number < 0 || number >= TwoTo64) return Value::error("unsigned integer overflow");
    return Value::unsigned_integer(static_cast<std::uint64_t>(number));
}
Value int_to_uint(Arguments a) {
    return a[0].as_int() < 0 ? Value::error("unsigned integer overflow")
                             : Value::unsigned_integer(static_cast<std::uint64_t>(a[0].as_int()));
}
Value string_to_uint(Arguments a) {
    std::uint64_t number = 0;
    return parse_number(a[0].as_text(), number) ? Value::unsigned_integer(number) : failed_text("uint");
}

Value to_text(Arguments a) { return Value::string(a[0].to_string()); }

Value string_to_duration(Arguments a) {
    const auto duration = parse_duration(a[0].as_text());
    return duration ? Value::duration(duration->count()) : failed_text("google.protobuf.Duration");
}
Value string_to_timestamp(Arguments a) {
    if (const auto moment = Moment::parse(a[0].as_text())) return Value::moment(*moment);
    return a[0].as_text().starts_with("0000-") ? Value::error("timestamp overflow") : failed_text("google.protobuf.Timestamp");
}
Value int_to_timestamp(Arguments a) {
    const Moment moment{a[0].as_int(), 0};
    return moment.in_range() ? Value::moment(moment) : Value::error("timestamp overflow");
}
Value type_of(Arguments a) { return Value::type(a[0].type()); }

constexpr LibraryFunction Table[] = {
    {"type = type(A) -> type(A)", type_of},
    {"to_dyn = dyn(A) -> dyn", same},
    {"bool_to_bool = bool(bool) -> bool", same},
    {"string_to_bool = bool(string) -> bool", string_to_bool},
    {"bytes_to_bytes = bytes(bytes) -> bytes", same},
    {"string_to_bytes = bytes(string) -> bytes", string_to_bytes},
    {"double_to_double = double(double) -> double", same},
    {"int64_to_double = double(int) -> double", int_to_double},
    {"string_to_double = double(string) -> double", string_to_double},
    {"uint64_to_double = double(uint) -> double", uint_to_double},
    {"duration_to_duration = duration(duration) -> duration", same},
    {"string_to_duration = duration(string) -> duration", string_to_duration},
    {"int64_to_int64 = int(int) -> int", same},
    {"double_to_int64 = int(double) -> int", double_to_int},
    {"duration_to_int64 = int(duration) -> int", duration_to_int},
    {"string_to_int64 = int(string) -> int", string_to_int},
    {"timestamp_to_int64 = int(timestamp) -> int", timestamp_to_int},
    {"uint64_to_int64 = int(uint) -> int", uint_to_int},
    {"string_to_string = string(string) -> string", same},
    {"bool_to_string = string(bool) -> string", to_text},
    {"bytes_to_string = string(bytes) -> string", bytes_to_string},
    {"double_to_string = string(double) -> string", to_text},
    {"duration_to_string = string(duration) -> string", to_text},
    {"int64_to_string = string(int) -> string", to_text},
    {"timestamp_to_string = string(timestamp) -> string", to_text},
    {"uint64_to_string = string(uint) -> string", to_text},
    {"timestamp_to_timestamp = timestamp(timestamp) -> timestamp", same},
    {"int64_to_timestamp = timestamp(int) -> timestamp", int_to_timestamp},
    {"string_to_timestamp = timestamp(string) -> timestamp", string_to_timestamp},
    {"uint64_to_uint64 = uint(uint) -> uint", same},
    {"double_to_uint64 = uint(double) -> uint", double_to_uint},
    {"int64_to_uint64 = uint(int) -> uint", int_to_uint},
    {"string_to_uint64 = uint(string) -> uint", string_to_uint},
};

}  // namespace
}  // namespace porthole::cel::conversions_library

namespace porthole::cel {

std::span<const LibraryFunction> conversion_functions() { return conversions_library::Table; }

}  // namespace porthole::cel
