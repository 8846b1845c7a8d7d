// The extension library of mathematics, encoders, and JSON patches' keys.
#include <cmath>

#include "base/base64.h"
#include "cel/library/libraries.h"
#include "schema/json/json.h"

namespace porthole::cel::math_library {
namespace {

using Arguments = std::span<const Value>;

template <int Better>
Value extreme(Arguments a) {
    if (a.size() == 1 && !a[0].is(Kind::List)) return a[0];
    if (a.size() == 2) return a[1].compare(a[0]) == Better ? a[1] : a[0];
    if (a[0].count() == 0) return Value::error(std::string(Better > 0 ? "math.@max" : "math.@min") + "(list) argument must not be empty");
    Value best = a[0].item(0);
    for (std::size_t i = 1; i < a[0].count(); ++i) {
        const Value item = a[0].item(i);
        if (!item.is_numeric()) return Value::error(std::string("no such overload: ") + (Better > 0 ? "math.@max" : "math.@min"));
        if (item.compare(best) == Better) best = item;
    }
    return best;
}

Value abs_int(Arguments a) {
    if (a[0].as_int() == INT64_MIN) return Value::error("integer overflow");
    return Value::integer(std::abs(a[0].as_int()));
}
Value same(Arguments a) { return a[0]; }
Value sign_int(Arguments a) { return Value::integer((a[0].as_int() > 0) - (a[0].as_int() < 0)); }
Value sign_uint(Arguments a) { return Value::unsigned_integer(a[0].as_uint() > 0); }
Value sign_double(Arguments a) {
    const double number = a[0].as_double();
    return Value::real(std::isnan(number) ? number : number > 0 ? 1 : number < 0 ? -1 : 0);
}
template <double (*Function)(double)>
Value real(Arguments a) {
    return Value::real(Function(a[0].as_double()));
}
double absolute(double number) { return std::fabs(number); }
double upward(double number) { return std::ceil(number); }
double downward(double number) { return std::floor(number); }
double nearest(double number) { return std::round(number); }
double cut(double number) { return std::trunc(number); }
double root(double number) { return std::sqrt(number); }
Value root_int(Arguments a) { return Value::real(std::sqrt(static_cast<double>(a[0].as_int()))); }
Value root_uint(Arguments a) { return Value::real(std::sqrt(static_cast<double>(a[0].as_uint()))); }
Value is_nan(Arguments a) { return Value::boolean(std::isnan(a[0].as_double())); }
Value is_inf(Arguments a) { return Value::boolean(std::isinf(a[0].as_double())); }
Value is_finite(Arguments a) { return Value::boolean(std::isfinite(a[0].as_double())); }

Value and_int(Arguments a) { return Value::integer(a[0].as_int() & a[1].as_int()); }
Value and_uint(Arguments a) { return Value::unsigned_integer(a[0].as_uint() & a[1].as_uint()); }
Value or_int(Arguments a) { return Value::integer(a[0].as_int() | a[1].as_int()); }
Value or_uint(Arguments a) { return Value::unsigned_integer(a[0].as_uint() | a[1].as_uint()); }
Value xor_int(Arguments a) { return Value::integer(a[0].as_int() ^ a[1].as_int()); }
Value xor_uint(Arguments a) { return Value::unsigned_integer(a[0].as_uint() ^ a[1].as_uint()); }
Value not_int(Arguments a) { return Value::integer(~a[0].as_int()); }
Value not_uint(Arguments a) { return Value::unsigned_integer(~a[0].as_uint()); }

template <bool Left, bool Unsigned>
Value shift(Arguments a) {
    const std::int64_t by = a[1].as_int();
    if (by < 0) return Value::error(std::string("math.bitShift") + (Left ? "Left" : "Right") + "() negative offset: " + std::to_string(by));
    const std::uint64_t bits = Unsigned ? a[0].as_uint() : static_cast<std::uint64_t>(a[0].as_int());
    const std::uint64_t shifted = by > 63 ? 0 : Left ? bits << by : bits >> by;
    return Unsigned ? Value::unsigned_integer(shifted) : Value::integer(static_cast<std::int64_t>(shifted));
}

Value encode(Arguments a) { return Value::string(encode_base64(a[0].as_text())); }
/// With or without padding.
Value decode(Arguments a) {
    std::string text(a[0].as_text());
    if (!text.ends_with('=')) text.append((4 - text.size() % 4) % 4, '=');
    auto bytes = decode_base64(text);
    return bytes ? Value::bytes(*std::move(bytes)) : Value::error(bytes.error().message);
}
Value json(Arguments a) {
    const auto tree = a[0].to_tree();
    return tree ? Value::string(schema::to_json(*tree)) : Value::error("cannot convert value to JSON value");
}

/// RFC 6901: "~" and "/" within a key.
Value escape_key(Arguments a) {
    std::string key;
    for (const char c : a[0].as_text()) {
        if (c == '~')
            key += "~0";
        else if (c == '/')
            key += "~1";
        else
            key += c;
    }
    return Value::string(std::move(key));
}

#define PORTHOLE_CEL_EXTREME(name, run)                                                                                          \
    {"math_@" name "_double = math.@" name "(double) -> double", run}, {"math_@" name "_int = math.@" name "(int) -> int", run}, \
        {"math_@" name "_uint = math.@" name "(uint) -> uint", run},                                                             \
        {"math_@" name "_double_double = math.@" name "(double, double) -> double", run},                                        \
        {"math_@" name "_int_int = math.@" name "(int, int) -> int", run},                                                       \
        {"math_@" name "_uint_uint = math.@" name "(uint, uint) -> uint", run},                                                  \
        {"math_@" name "_int_uint = math.@" name "(int, uint) -> dyn", run},                                                     \
        {"math_@" name "_int_double = math.@" name "(int, double) -> dyn", run},                                                 \
        {"math_@" name "_double_int = math.@" name "(double, int) -> dyn", run},                                                 \
        {"math_@" name "_double_uint = math.@" name "(double, uint) -> dyn", run},                                               \
        {"math_@" name "_uint_int = math.@" name "(uint, int) -> dyn", run},                                                     \
        {"math_@" name "_uint_double = math.@" name "(uint, double) -> dyn", run},                                               \
        {"math_@" name "_list_double = math.@" name "(list(double)) -> double", run},                                            \
        {"math_@" name "_list_int = math.@" name "(list(int)) -> int", run}, {                                                   \
        "math_@" name "_list_uint = math.@" name "(list(uint)) -> uint", run                                                     \
    }

constexpr LibraryFunction Table[] = {
    PORTHOLE_CEL_EXTREME("max", extreme<1>),
    PORTHOLE_CEL_EXTREME("min", extreme<-1>),
    {"math_abs_double = math.abs(double) -> double", real<absolute>},
    {"math_abs_int = math.abs(int) -> int", abs_int},
    {"math_abs_uint = math.abs(uint) -> uint", same},
    {"math_bitAnd_int_int = math.bitAnd(int, int) -> int", and_int},
    {"math_bitAnd_uint_uint = math.bitAnd(uint, uint) -> uint", and_uint},
    {"math_bitNot_int_int = math.bitNot(int) -> int", not_int},
    {"math_bitNot_uint_uint = math.bitNot(uint) -> uint", not_uint},
    {"math_bitOr_int_int = math.bitOr(int, int) -> int", or_int},
    {"math_bitOr_uint_uint = math.bitOr(uint, uint) -> uint", or_uint},
    {"math_bitShiftLeft_int_int = math.bitShiftLeft(int, int) -> int", shift<true, false>},
    {"math_bitShiftLeft_uint_int = math.bitShiftLeft(uint, int) -> uint", shift<true, true>},
    {"math_bitShiftRight_int_int = math.bitShiftRight(int, int) -> int", shift<false, false>},
    {"math_bitShiftRight_uint_int = math.bitShiftRight(uint, int) -> uint", shift<false, true>},
    {"math_bitXor_int_int = math.bitXor(int, int) -> int", xor_int},
    {"math_bitXor_uint_uint = math.bitXor(uint, uint) -> uint", xor_uint},
    {"math_ceil_double = math.ceil(double) -> double", real<upward>},
    {"math_floor_double = math.floor(double) -> double", real<downward>},
    {"math_isFinite_double = math.isFinite(double) -> bool", is_finite},
    {"math_isInf_double = math.isInf(double) -> bool", is_inf},
    {"math_isNaN_double = math.isNaN(double) -> bool", is_nan},
    {"math_round_double = math.round(double) -> double", real<nearest>},
    {"math_sign_double = math.sign(double) -> double", sign_double},
    {"math_sign_int = math.sign(int) -> int", sign_int},
    {"math_sign_uint = math.sign(uint) -> uint", sign_uint},
    {"math_sqrt_double = math.sqrt(double) -> double", real<root>},
    {"math_sqrt_int = math.sqrt(int) -> double", root_int},
    {"math_sqrt_uint = math.sqrt(uint) -> double", root_uint},
    {"math_trunc_double = math.trunc(double) -> double", real<cut>},
};
#undef PORTHOLE_CEL_EXTREME
constexpr LibraryFunction Encoders[] = {
    {"base64_decode_string = base64.decode(string) -> bytes", decode},
    {"base64_encode_bytes = base64.encode(bytes) -> string", encode},
    {"json_encode_dyn = json.encode(dyn) -> string", json},
};
constexpr LibraryFunction JsonPatch[] = {{"string_jsonpatch_escapeKey_string = jsonpatch.escapeKey(string) -> string", escape_key}};

}  // namespace
}  // namespace porthole::cel::math_library

namespace porthole::cel {

std::span<const LibraryFunction> math_functions() { return math_library::Table; }
std::span<const LibraryFunction> encoder_functions() { return math_library::Encoders; }
std::span<const LibraryFunction> json_patch_functions() { return math_library::JsonPatch; }

}  // namespace porthole::cel
