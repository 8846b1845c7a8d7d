// The language's operators, on numbers, texts, lists and times.
#include <cmath>
#include <limits>

#include "cel/library/libraries.h"

namespace porthole::cel::operators_library {
namespace {

using Arguments = std::span<const Value>;

Value int_overflow() { return Value::error("integer overflow"); }
Value uint_overflow() { return Value::error("unsigned integer overflow"); }

template <bool (*Compute)(std::int64_t, std::int64_t, std::int64_t*)>
Value checked_int(Arguments a) {
    std::int64_t result = 0;
    return Compute(a[0].as_int(), a[1].as_int(), &result) ? int_overflow() : Value::integer(result);
}
template <bool (*Compute)(std::uint64_t, std::uint64_t, std::uint64_t*)>
Value checked_uint(Arguments a) {
    std::uint64_t result = 0;
    return Compute(a[0].as_uint(), a[1].as_uint(), &result) ? uint_overflow() : Value::unsigned_integer(result);
}
bool add_i(std::int64_t a, std::int64_t b, std::int64_t* r) { return __builtin_add_overflow(a, b, r); }
bool sub_i(std::int64_t a, std::int64_t b, std::int64_t* r) { return __builtin_sub_overflow(a, b, r); }
bool mul_i(std::int64_t a, std::int64_t b, std::int64_t* r) { return __builtin_mul_overflow(a, b, r); }
bool add_u(std::uint64_t a, std::uint64_t b, std::uint64_t* r) { return __builtin_add_overflow(a, b, r); }
bool sub_u(std::uint64_t a, std::uint64_t b, std::uint64_t* r) { return __builtin_sub_overflow(a, b, r); }
bool mul_u(std::uint64_t a, std::uint64_t b, std::uint64_t* r) { return __builtin_mul_overflow(a, b, r); }

Value add_double(Arguments a) { return Value::real(a[0].as_double() + a[1].as_double()); }
Value sub_double(Arguments a) { return Value::real(a[0].as_double() - a[1].as_double()); }
Value mul_double(Arguments a) { return Value::real(a[0].as_double() * a[1].as_double()); }
Value div_double(Arguments a) { return Value::real(a[0].as_double() / a[1].as_double()); }

Value div_int(Arguments a) {
    if (a[1].as_int() == 0) return Value::error("division by zero");
    if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return int_overflow();
    return Value::integer(a[0].as_int() / a[1].as_int());
}
Value mod_int(Arguments a) {
    if (a[1].as_int() == 0) return Value::error("modulus by zero");
    if (a[0].as_int() == INT64_MIN && a[1].as_int() == -1) return int_overflow();
    return Value::integer(a[0].as_int() % a[1].as_int());
}
Value div_uint(Arguments a) {
    return a[1].as_uint() ? Value::unsigned_integer(a[0].as_uint() / a[1].as_uint()) : Value::error("division by zero");
}
Value mod_uint(Arguments a) {
    return a[1].as_uint() ? Value::unsigned_integer(a[0].as_uint() % a[1].as_uint()) : Value::error("modulus by zero");
}

Value neg_int(Arguments a) { return a[0].as_int() == INT64_MIN ? int_overflow() : Value::integer(-a[0].as_int()); }
Value neg_double(Arguments a) { return Value::real(-a[0].as_double()); }
Value logical_not(Arguments a) { return Value::boolean(!a[0].as_bool()); }

Value add_string(Arguments a) { return Value::string(std::string(a[0].as_text()) += a[1].as_text()); }
Value add_bytes(Arguments a) { return Value::bytes(std::string(a[0].as_text()) += a[1].as_text()); }
Value add_list(Arguments a, Work& work) { return Value::append(a[0], a[1], work); }

Value moved(Moment moment, std::int64_t nanos) {
    moment.seconds += nanos / 1'000'000'000;
    std::int64_t below = moment.nanos + nanos % 1'000'000'000;
    if (below < 0) {
        below += 1'000'000'000;
        --moment.seconds;
    } else if (below >= 1'000'000'000) {
        below -= 1'000'000'000;
        ++moment.seconds;
    }
    moment.nanos = static_cast<std::int32_t>(below);
    return moment.in_range() ? Value::moment(moment) : Value::error("timestamp overflow");
}
Value add_duration_duration(Arguments a) {
    std::int64_t sum = 0;
    return add_i(a[0].as_nanos(), a[1].as_nanos(), &sum) ? Value::error("duration overflow") : Value::duration(sum);
}
Value sub_duration_duration(Arguments a) {
    std::int64_t difference = 0;
    return sub_i(a[0].as_nanos(), a[1].as_nanos(), &difference) ? Value::error("duration overflow") : Value::duration(difference);
}
Value add_duration_timestamp(Arguments a) { return moved(a[1].as_moment(), a[0].as_nanos()); }
Value add_timestamp_duration(Arguments a) { return moved(a[0].as_moment(), a[1].as_nanos()); }
Value sub_timestamp_duration(Arguments a) {
    if (a[1].as_nanos() == INT64_MIN) return Value::error("timestamp overflow");
    return moved(a[0].as_moment(), -a[1].as_nanos());
}
Value sub_timestamp_timestamp(Arguments a) {
    const Moment left = a[0].as_moment(), right = a[1].as_moment();
    std::int64_t nanos = 0;
    if (mul_i(left.seconds - right.seconds, 1'000'000'000, &nanos) || add_i(nanos, left.nanos - right.nanos, &nanos))
        return Value::error("duration overflow");
    return Value::duration(nanos);
}

template <class Holds>
Value compared(Arguments a, Holds holds) {
    const std::optional<int> order = a[0].compare(a[1]);
    return order ? Value::boolean(holds(*order)) : Value::error("NaN values cannot be ordered");
}
Value less(Arguments a) {
    return compared(a, [](int order) { return order < 0; });
}
Value less_equals(Arguments a) {
    return compared(a, [](int order) { return order <= 0; });
}
Value greater(Arguments a) {
    return compared(a, [](int order) { return order > 0; });
}
Value greater_equals(Arguments a) {
    return compared(a, [](int order) { return order >= 0; });
}
Value in(Arguments a, Work& work) { return Value::boolean(a[1].contains(a[0], work)); }

// The overloads of a relation.
#define PORTHOLE_CEL_RELATION(id, sign, run)                                                                                        \
    {id "_bool = _" sign "_(bool, bool) -> bool", run}, {id "_int64 = _" sign "_(int, int) -> bool", run},                          \
        {id "_int64_double = _" sign "_(int, double) -> bool", run}, {id "_int64_uint64 = _" sign "_(int, uint) -> bool", run},     \
        {id "_uint64 = _" sign "_(uint, uint) -> bool", run}, {id "_uint64_double = _" sign "_(uint, double) -> bool", run},        \
        {id "_uint64_int64 = _" sign "_(uint, int) -> bool", run}, {id "_double = _" sign "_(double, double) -> bool", run},        \
        {id "_double_int64 = _" sign "_(double, int) -> bool", run}, {id "_double_uint64 = _" sign "_(double, uint) -> bool", run}, \
        {id "_string = _" sign "_(string, string) -> bool", run}, {id "_bytes = _" sign "_(bytes, bytes) -> bool", run},            \
        {id "_timestamp = _" sign "_(timestamp, timestamp) -> bool", run}, {                                                        \
        id "_duration = _" sign "_(duration, duration) -> bool", run                                                                \
    }

constexpr LibraryFunction Table[] = {
    {"conditional = _?_:_(bool, A, A) -> A", nullptr},
    {"logical_and = _&&_(bool, bool) -> bool", nullptr},
    {"logical_or = _||_(bool, bool) -> bool", nullptr},
    {"logical_not = !_(bool) -> bool", logical_not},
    {"not_strictly_false = @not_strictly_false(bool) -> bool", nullptr},
    {"equals = _==_(A, A) -> bool", nullptr},
    {"not_equals = _!=_(A, A) -> bool", nullptr},
    {"add_bytes = _+_(bytes, bytes) -> bytes", add_bytes},
    {"add_double = _+_(double, double) -> double", add_double},
    {"add_duration_duration = _+_(duration, duration) -> duration", add_duration_duration},
    {"add_duration_timestamp = _+_(duration, timestamp) -> timestamp", add_duration_timestamp},
    {"add_timestamp_duration = _+_(timestamp, duration) -> timestamp", add_timestamp_duration},
    {"add_int64 = _+_(int, int) -> int", checked_int<add_i>},
    {"add_list = _+_(list(A), list(A)) -> list(A)", add_list},
    {"add_string = _+_(string, string) -> string", add_string},
    {"add_uint64 = _+_(uint, uint) -> uint", checked_uint<add_u>},
    {"divide_double = _/_(double, double) -> double", div_double},
    {"divide_int64 = _/_(int, int) -> int", div_int},
    {"divide_uint64 = _/_(uint, uint) -> uint", div_uint},
    {"modulo_int64 = _%_(int, int) -> int", mod_int},
    {"modulo_uint64 = _%_(uint, uint) -> uint", mod_uint},
    {"multiply_double = _*_(double, double) -> double", mul_double},
    {"multiply_int64 = _*_(int, int) -> int", checked_int<mul_i>},
    {"multiply_uint64 = _*_(uint, uint) -> uint", checked_uint<mul_u>},
    {"negate_double = -_(double) -> double", neg_double},
    {"negate_int64 = -_(int) -> int", neg_int},
    {"subtract_double = _-_(double, double) -> double", sub_double},
    {"subtract_duration_duration = _-_(duration, duration) -> duration", sub_duration_duration},
    {"subtract_int64 = _-_(int, int) -> int", checked_int<sub_i>},
    {"subtract_timestamp_duration = _-_(timestamp, duration) -> timestamp", sub_timestamp_duration},
    {"subtract_timestamp_timestamp = _-_(timestamp, timestamp) -> duration", sub_timestamp_timestamp},
    {"subtract_uint64 = _-_(uint, uint) -> uint", checked_uint<sub_u>},
    PORTHOLE_CEL_RELATION("less", "<", less),
    PORTHOLE_CEL_RELATION("less_equals", "<=", less_equals),
    PORTHOLE_CEL_RELATION("greater", ">", greater),
    PORTHOLE_CEL_RELATION("greater_equals", ">=", greater_equals),
    {"index_list = _[_](list(A), int) -> A", nullptr},
    {"index_map = _[_](map(A, B), A) -> B", nullptr},
    {"in_list = @in(A, list(A)) -> bool", in},
    {"in_map = @in(A, map(A, B)) -> bool", in},
};

}  // namespace
}  // namespace porthole::cel::operators_library

namespace porthole::cel {

std::span<const LibraryFunction> operator_functions() { return operators_library::Table; }

}  // namespace porthole::cel
