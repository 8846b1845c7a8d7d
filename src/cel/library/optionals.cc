// Optional values.
#include "cel/library/libraries.h"

namespace porthole::cel::optionals_library {
namespace {

using Arguments = std::span<const Value>;

bool is_zero(const Value& value) {
    switch (value.kind()) {
        case Kind::Null:
            return true;
        case Kind::Bool:
            return !value.as_bool();
        case Kind::Int:
            return value.as_int() == 0;
        case Kind::Uint:
            return value.as_uint() == 0;
        case Kind::Double:
            return value.as_double() == 0;
        case Kind::String:
        case Kind::Bytes:
            return value.as_text().empty();
        case Kind::List:
        case Kind::Map:
        case Kind::Object:
            return value.count() == 0;
        case Kind::Duration:
            return value.as_nanos() == 0;
        case Kind::Optional:
            return !value.has_value();
        default:
            return false;
    }
}

Value of(Arguments a) { return Value::some(a[0]); }
Value of_non_zero(Arguments a) { return is_zero(a[0]) ? Value::none() : Value::some(a[0]); }
Value none(Arguments) { return Value::none(); }
Value value(Arguments a) { return a[0].has_value() ? Value(a[0].content()) : Value::error("optional.none() dereference"); }
Value has_value(Arguments a) { return Value::boolean(a[0].has_value()); }
Value first(Arguments a) { return a[0].count() ? Value::some(a[0].item(0)) : Value::none(); }
Value last(Arguments a) { return a[0].count() ? Value::some(a[0].item(a[0].count() - 1)) : Value::none(); }
Value unwrap(Arguments a, Work& work) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < a[0].count() && work.look(); ++i) {
        const Value item = a[0].item(i);
        if (!item.is(Kind::Optional)) return Value::error("value " + item.to_string() + " is not optional");
        if (item.has_value()) items.push_back(item.content());
    }
    return Value::list(std::move(items));
}

constexpr LibraryFunction Table[] = {
    {"optional_of = optional.of(V) -> optional(V)", of},
    {"optional_ofNonZeroValue = optional.ofNonZeroValue(V) -> optional(V)", of_non_zero},
    {"optional_none = optional.none() -> optional(V)", none},
    {"optional_value = optional(V).value() -> V", value},
    {"optional_hasValue = optional(V).hasValue() -> bool", has_value},
    {"optional_or_optional = optional(V).or(optional(V)) -> optional(V)", nullptr},
    {"optional_orValue_value = optional(V).orValue(V) -> V", nullptr},
    {"select_optional_field = _?._(dyn, string) -> optional(V)", nullptr},
    {"list_optindex_optional_int = _[?_](list(V), int) -> optional(V)", nullptr},
    {"optional_list_optindex_optional_int = _[?_](optional(list(V)), int) -> optional(V)", nullptr},
    {"map_optindex_optional_value = _[?_](map(K, V), K) -> optional(V)", nullptr},
    {"optional_map_optindex_optional_value = _[?_](optional(map(K, V)), K) -> optional(V)", nullptr},
    {"optional_list_index_int = _[_](optional(list(V)), int) -> optional(V)", nullptr},
    {"optional_map_index_value = _[_](optional(map(K, V)), K) -> optional(V)", nullptr},
};
constexpr LibraryFunction TableV2[] = {
    {"list_first = list(V).first() -> optional(V)", first},
    {"list_last = list(V).last() -> optional(V)", last},
    {"optional_unwrap = optional.unwrap(list(optional(V))) -> list(V)", unwrap},
    {"optional_unwrapOpt = list(optional(V)).unwrapOpt() -> list(V)", unwrap},
};

}  // namespace
}  // namespace porthole::cel::optionals_library

namespace porthole::cel {

std::span<const LibraryFunction> optional_functions() { return optionals_library::Table; }
std::span<const LibraryFunction> optional_functions_v2() { return optionals_library::TableV2; }

}  // namespace porthole::cel
