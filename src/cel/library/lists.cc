// Lists and sets: Kubernetes' functions, and the extension libraries of lists, sets and two-variable loops.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cel/library/libraries.h"

namespace porthole::cel::lists_library {
namespace {

using Arguments = std::span<const Value>;

constexpr std::int64_t LongestRange = 1'000'000;  // of lists.range

std::vector<Value> items_of(const Value& list) {
    std::vector<Value> items;
    items.reserve(list.count());
    for (std::size_t i = 0; i < list.count(); ++i) items.push_back(list.item(i));
    return items;
}

Value is_sorted(Arguments a) {
    for (std::size_t i = 1; i < a[0].count(); ++i) {
        if (a[0].item(i - 1).compare(a[0].item(i)) == 1) return Value::boolean(false);
    }
    return Value::boolean(true);
}

/// The function is chosen by the first item: those behind it may be of another kind in a list of dyn.
bool all_are(Kind kind, Arguments a) {
    for (std::size_t i = 0; i < a[0].count(); ++i)
        if (!a[0].item(i).is(kind)) return false;
    return true;
}

Value sum_int(Arguments a) {
    if (!all_are(Kind::Int, a)) return Value::no_such_overload();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < a[0].count(); ++i) {
        if (__builtin_add_overflow(sum, a[0].item(i).as_int(), &sum)) return Value::error("integer overflow");
    }
    return Value::integer(sum);
}
Value sum_uint(Arguments a) {
    if (!all_are(Kind::Uint, a)) return Value::no_such_overload();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < a[0].count(); ++i) {
        if (__builtin_add_overflow(sum, a[0].item(i).as_uint(), &sum)) return Value::error("unsigned integer overflow");
    }
    return Value::unsigned_integer(sum);
}
Value sum_double(Arguments a) {
    if (!all_are(Kind::Double, a)) return Value::no_such_overload();
    double sum = 0;
    for (std::size_t i = 0; i < a[0].count(); ++i) sum += a[0].item(i).as_double();
    return Value::real(sum);
}
Value sum_duration(Arguments a) {
    if (!all_are(Kind::Duration, a)) return Value::no_such_overload();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < a[0].count(); ++i) {
        if (__builtin_add_overflow(sum, a[0].item(i).as_nanos(), &sum)) return Value::error("duration overflow");
    }
    return Value::duration(sum);
}

template <int Worse>
Value extreme(Arguments a) {
    if (a[0].count() == 0) return Value::error(std::string(Worse > 0 ? "min" : "max") + " called on empty list");
    Value best = a[0].item(0);
    for (std::size_t i = 1; i < a[0].count(); ++i) {
        Value item = a[0].item(i);
        if (best.compare(item) == Worse) best = std::move(item);
    }
    return best;
}

Value index_of(Arguments a, Work& work) {
    for (std::size_t i = 0; i < a[0].count() && !work.is_used_up(); ++i) {
        if (a[0].item(i).equals(a[1], work)) return Value::integer(static_cast<std::int64_t>(i));
    }
    return Value::integer(-1);
}
Value last_index_of(Arguments a, Work& work) {
    for (std::size_t i = a[0].count(); i > 0 && !work.is_used_up(); --i) {
        if (a[0].item(i - 1).equals(a[1], work)) return Value::integer(static_cast<std::int64_t>(i - 1));
    }
    return Value::integer(-1);
}
Value includes(Arguments a, Work& work) {
    return Value::boolean(a[0].is(Kind::List) ? a[0].contains(a[1], work) : a[0].equals(a[1], work));
}

Value range(Arguments a, Work& work) {
    const std::int64_t size = a[0].as_int();
    if (size < 0) return Value::error(fmt::format("lists.range: size must be non-negative, got {}", size));
    if (size > LongestRange) return Value::error(fmt::format("lists.range: size {} exceeds maximum allowed ({})", size, LongestRange));
    std::vector<Value> items;
    if (!work.make(static_cast<std::size_t>(size) * sizeof(Value))) return {};
    items.reserve(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) items.push_back(Value::integer(i));
    return Value::list(std::move(items));
}

Value slice(Arguments a) {
    const std::int64_t from = a[1].as_int(), to = a[2].as_int(), size = static_cast<std::int64_t>(a[0].count());
    if (from < 0 || to < 0) return Value::error(fmt::format("cannot slice({}, {}), negative indexes not supported", from, to));
    if (from > to) return Value::error(fmt::format("cannot slice({}, {}), start index must be less than or equal to end index", from, to));
    if (to > size) return Value::error(fmt::format("cannot slice({}, {}), list is length {}", from, to, size));
    std::vector<Value> items;
    for (std::int64_t i = from; i < to; ++i) items.push_back(a[0].item(static_cast<std::size_t>(i)));
    return Value::list(std::move(items));
}

void flatten_into(const Value& list, std::int64_t level, std::vector<Value>& items, Work& work) {
    for (std::size_t i = 0; i < list.count() && work.look(); ++i) {
        Value item = list.item(i);
        if (item.is(Kind::List) && level > 0)
            flatten_into(item, level - 1, items, work);
        else if (work.make(sizeof(Value)))
            items.push_back(std::move(item));
    }
}
Value flatten(Arguments a, Work& work) {
    const std::int64_t level = a.size() > 1 ? a[1].as_int() : 1;
    if (level < 0) return Value::error("level must be non-negative");
    std::vector<Value> items;
    flatten_into(a[0], level, items, work);
    return Value::list(std::move(items));
}

Value reverse(Arguments a) {
    std::vector<Value> items = items_of(a[0]);
    std::ranges::reverse(items);
    return Value::list(std::move(items));
}

Value distinct(Arguments a, Work& work) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < a[0].count() && !work.is_used_up(); ++i) {
        Value item = a[0].item(i);
        if (std::ranges::none_of(items, [&](const Value& there) { return there.equals(item, work); })) items.push_back(std::move(item));
    }
    return Value::list(std::move(items));
}

Value sorted_by(const Value& list, const Value& keys) {
    if (list.count() != keys.count())
        return Value::error(fmt::format(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.count(), keys.count()));
    const std::vector<Value> items = items_of(list), by = items_of(keys);
    for (const Value& key : by) {
        if (key.kind() != by[0].kind()) return Value::error("list elements must have the same type");
    }
    std::vector<std::size_t> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    const auto is_unordered = [&](std::size_t index) { return !by[index].compare(by[index]); };  // NaN: first, as a fixed place is needed
    std::ranges::sort(order, [&](std::size_t x, std::size_t y) {
        const int compared = by[x].compare(by[y]).value_or(is_unordered(y) - is_unordered(x));
        return compared < 0 || (compared == 0 && x < y);
    });
    std::vector<Value> sorted;
    for (const std::size_t index : order) sorted.push_back(items[index]);
    return Value::list(std::move(sorted));
}
Value sort(Arguments a) { return sorted_by(a[0], a[0]); }
Value sort_by(Arguments a) { return sorted_by(a[0], a[1]); }

bool has_all(const Value& list, const Value& wanted, Work& work) {
    for (std::size_t i = 0; i < wanted.count() && !work.is_used_up(); ++i) {
        if (!list.contains(wanted.item(i), work)) return false;
    }
    return true;
}
Value sets_contains(Arguments a, Work& work) { return Value::boolean(has_all(a[0], a[1], work)); }
Value sets_equivalent(Arguments a, Work& work) { return Value::boolean(has_all(a[0], a[1], work) && has_all(a[1], a[0], work)); }
Value sets_intersects(Arguments a, Work& work) {
    for (std::size_t i = 0; i < a[1].count() && !work.is_used_up(); ++i) {
        if (a[0].contains(a[1].item(i), work)) return Value::boolean(true);
    }
    return Value::boolean(false);
}

Value insert(Arguments a, Work& work) {
    if (a.size() == 3) return Value::insert(a[0], a[1], a[2], work);
    Value map = a[0];
    for (std::size_t i = 0; i < a[1].count() && !map.is_error() && !work.is_used_up(); ++i) {
        Value::Entry entry = a[1].entry(i);
        map = Value::insert(std::move(map), std::move(entry.first), std::move(entry.second), work);
    }
    return map;
}

// One line for each type whose values have an order.
#define PORTHOLE_CEL_EXTREME(name, run)                                                                                             \
    {"list_int_" name "_int = list(int)." name "() -> int", run}, {"list_uint_" name "_uint = list(uint)." name "() -> uint", run}, \
        {"list_double_" name "_double = list(double)." name "() -> double", run},                                                   \
        {"list_bool_" name "_bool = list(bool)." name "() -> bool", run},                                                           \
        {"list_duration_" name "_duration = list(duration)." name "() -> duration", run},                                           \
        {"list_timestamp_" name "_timestamp = list(timestamp)." name "() -> timestamp", run},                                       \
        {"list_string_" name "_string = list(string)." name "() -> string", run}, {                                                 \
        "list_bytes_" name "_bytes = list(bytes)." name "() -> bytes", run                                                          \
    }

constexpr LibraryFunction Table[] = {
    {"list_int_is_sorted_bool = list(int).isSorted() -> bool", is_sorted},
    {"list_uint_is_sorted_bool = list(uint).isSorted() -> bool", is_sorted},
    {"list_double_is_sorted_bool = list(double).isSorted() -> bool", is_sorted},
    {"list_bool_is_sorted_bool = list(bool).isSorted() -> bool", is_sorted},
    {"list_duration_is_sorted_bool = list(duration).isSorted() -> bool", is_sorted},
    {"list_timestamp_is_sorted_bool = list(timestamp).isSorted() -> bool", is_sorted},
    {"list_string_is_sorted_bool = list(string).isSorted() -> bool", is_sorted},
    {"list_bytes_is_sorted_bool = list(bytes).isSorted() -> bool", is_sorted},
    {"list_int_sum_int = list(int).sum() -> int", sum_int},
    {"list_uint_sum_uint = list(uint).sum() -> uint", sum_uint},
    {"list_double_sum_double = list(double).sum() -> double", sum_double},
    {"list_duration_sum_duration = list(duration).sum() -> duration", sum_duration},
    PORTHOLE_CEL_EXTREME("max", extreme<-1>),
    PORTHOLE_CEL_EXTREME("min", extreme<1>),
    {"list_a_index_of_int = list(A).indexOf(A) -> int", index_of},
    {"list_a_last_index_of_int = list(A).lastIndexOf(A) -> int", last_index_of},
};
constexpr LibraryFunction TableV1[] = {{"list_includes_dyn_dyn = dyn.includes(dyn) -> bool", includes}};
constexpr LibraryFunction TableExt[] = {
    {"list_int_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(int)) -> list(T)", sort_by},
    {"list_uint_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(uint)) -> list(T)", sort_by},
    {"list_double_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(double)) -> list(T)", sort_by},
    {"list_bool_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(bool)) -> list(T)", sort_by},
    {"list_google.protobuf.Duration_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(duration)) -> list(T)", sort_by},
    {"list_google.protobuf.Timestamp_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(timestamp)) -> list(T)", sort_by},
    {"list_string_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(string)) -> list(T)", sort_by},
    {"list_bytes_sortByAssociatedKeys = list(T).@sortByAssociatedKeys(list(bytes)) -> list(T)", sort_by},
    {"list_int_sort = list(int).sort() -> list(int)", sort},
    {"list_uint_sort = list(uint).sort() -> list(uint)", sort},
    {"list_double_sort = list(double).sort() -> list(double)", sort},
    {"list_bool_sort = list(bool).sort() -> list(bool)", sort},
    {"list_google.protobuf.Duration_sort = list(duration).sort() -> list(duration)", sort},
    {"list_google.protobuf.Timestamp_sort = list(timestamp).sort() -> list(timestamp)", sort},
    {"list_string_sort = list(string).sort() -> list(string)", sort},
    {"list_bytes_sort = list(bytes).sort() -> list(bytes)", sort},
    {"list_slice = list(T).slice(int, int) -> list(T)", slice},
    {"list_flatten = list(list(T)).flatten() -> list(T)", flatten},
    {"list_flatten_int = list(dyn).flatten(int) -> list(dyn)", flatten},
    {"lists_range = lists.range(int) -> list(int)", range},
    {"list_distinct = list(T).distinct() -> list(T)", distinct},
    {"list_reverse = list(T).reverse() -> list(T)", reverse},
};
constexpr LibraryFunction Sets[] = {
    {"list_sets_contains_list = sets.contains(list(T), list(T)) -> bool", sets_contains},
    {"list_sets_equivalent_list = sets.equivalent(list(T), list(T)) -> bool", sets_equivalent},
    {"list_sets_intersects_list = sets.intersects(list(T), list(T)) -> bool", sets_intersects},
};
constexpr LibraryFunction TwoVariable[] = {
    {"@mapInsert_map_key_value = cel.@mapInsert(map(K, V), K, V) -> map(K, V)", insert},
    {"@mapInsert_map_map = cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", insert},
};
#undef PORTHOLE_CEL_EXTREME

}  // namespace
}  // namespace porthole::cel::lists_library

namespace porthole::cel {

std::span<const LibraryFunction> list_functions() { return lists_library::Table; }
std::span<const LibraryFunction> list_functions_v1() { return lists_library::TableV1; }
std::span<const LibraryFunction> list_functions_ext() { return lists_library::TableExt; }
std::span<const LibraryFunction> set_functions() { return lists_library::Sets; }
std::span<const LibraryFunction> two_variable_functions() { return lists_library::TwoVariable; }

}  // namespace porthole::cel
