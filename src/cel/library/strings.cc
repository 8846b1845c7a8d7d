// The extension library of strings: positions count code points.
#include "base/strings.h"

#include <algorithm>
#include <limits>

#include "cel/library/libraries.h"
#include "cel/library/string_format.h"
#include "cel/library/text_search.h"
#include "cel/library/utf8.h"

namespace porthole::cel::strings_library {
namespace {

using Arguments = std::span<const Value>;
using Points = std::vector<std::uint32_t>;

Value out_of_range(std::int64_t index) { return Value::error("index out of range: " + std::to_string(index)); }

Value char_at(Arguments a) {
    const Points points = to_code_points(a[0].as_text());
    const std::int64_t index = a[1].as_int();
    if (index < 0 || index > static_cast<std::int64_t>(points.size())) return out_of_range(index);
    if (index == static_cast<std::int64_t>(points.size())) return Value::string("");
    return Value::string(from_code_points(points, static_cast<std::size_t>(index), static_cast<std::size_t>(index) + 1));
}

/// The first position at or after `from`; -1 for none.
std::int64_t find_forward(const Points& text, const Points& wanted, std::int64_t from) {
    const auto found = TextSearch<std::uint32_t>(wanted).first(text, static_cast<std::size_t>(from));
    return found ? static_cast<std::int64_t>(*found) : -1;
}
/// The last position at or before `from`.
std::int64_t find_backward(const Points& text, const Points& wanted, std::int64_t from) {
    const std::size_t end = std::min(static_cast<std::size_t>(from) + wanted.size(), text.size());
    const auto found = TextSearch<std::uint32_t>(wanted).last(std::span(text).first(end));
    return found ? static_cast<std::int64_t>(*found) : -1;
}

template <bool Forward>
Value index_of(Arguments a) {
    const Points text = to_code_points(a[0].as_text()), wanted = to_code_points(a[1].as_text());
    const auto size = static_cast<std::int64_t>(text.size());
    if (a.size() == 2) {
        if (wanted.empty()) return Value::integer(Forward ? 0 : size);
        return Value::integer(Forward ? find_forward(text, wanted, 0) : find_backward(text, wanted, size));
    }
    const std::int64_t offset = a[2].as_int();
    if (offset < 0) return out_of_range(offset);
    if (wanted.empty()) return Value::integer(std::min(offset, size));
    if (offset >= size) return Value::integer(-1);
    return Value::integer(Forward ? find_forward(text, wanted, offset) : find_backward(text, wanted, offset));
}

Value join(Arguments a, Work& work) {
    std::string text;
    const std::string_view between = a.size() > 1 ? a[1].as_text() : std::string_view();
    for (std::size_t i = 0; i < a[0].count(); ++i) {
        const Value item = a[0].item(i);
        if (!item.is(Kind::String)) return Value::error("join: invalid input: " + item.to_string());
        if (!work.look() || !work.make(between.size() + item.as_text().size())) return {};
        if (i > 0) text += between;
        text += item.as_text();
    }
    return Value::string(std::move(text));
}

Value lower_ascii(Arguments a) { return Value::string(to_lower(a[0].as_text())); }
Value upper_ascii(Arguments a) { return Value::string(to_upper(a[0].as_text())); }

/// The length of the code point at that byte.
std::size_t step_at(std::string_view text, std::size_t at) {
    std::size_t size = 1;
    while (at + size < text.size() && (static_cast<unsigned char>(text[at + size]) & 0xC0) == 0x80) ++size;
    return size;
}

Value replace(Arguments a, Work& work) {
    const std::string_view text = a[0].as_text(), old = a[1].as_text(), by = a[2].as_text();
    std::int64_t left = a.size() > 3 ? a[3].as_int() : -1;
    std::string result;
    std::size_t at = 0;
    if (old.empty()) {
        for (; left != 0; --left) {
            if (!work.make(by.size() + 1)) return {};
            result += by;
            if (at == text.size()) return Value::string(std::move(result));
            const std::size_t size = step_at(text, at);
            result += text.substr(at, size);
            at += size;
        }
        return Value::string(std::move(result.append(text.substr(at))));
    }
    const TextSearch<char> search(old);
    for (; left != 0; --left) {
        const auto found = search.first(text, at);
        if (!found) break;
        if (!work.make(*found - at + by.size())) return {};
        result.append(text.substr(at, *found - at)).append(by);
        at = *found + old.size();
    }
    return Value::string(std::move(result.append(text.substr(at))));
}

Value split(Arguments a, Work& work) {
    const std::string_view text = a[0].as_text(), separator = a[1].as_text();
    const std::int64_t most = a.size() > 2 ? a[2].as_int() : -1;
    std::vector<Value> parts;
    const auto add = [&](std::string_view part) {
        if (work.make(TextPartSize + part.size())) parts.push_back(Value::string(std::string(part)));
    };
    if (most == 0) return Value::list({});
    std::size_t at = 0;
    const auto is_last = [&] { return most > 0 && static_cast<std::int64_t>(parts.size()) + 1 >= most; };
    if (separator.empty()) {
        while (at < text.size()) {
            const std::size_t size = is_last() ? text.size() - at : step_at(text, at);
            add(text.substr(at, size));
            at += size;
        }
        return Value::list(std::move(parts));
    }
    const TextSearch<char> search(separator);
    while (!is_last()) {
        const auto found = search.first(text, at);
        if (!found) break;
        add(text.substr(at, *found - at));
        at = *found + separator.size();
    }
    add(text.substr(at));
    return Value::list(std::move(parts));
}

Value substring(Arguments a) {
    const Points points = to_code_points(a[0].as_text());
    const auto size = static_cast<std::int64_t>(points.size());
    const std::int64_t start = a[1].as_int(), end = a.size() > 2 ? a[2].as_int() : size;
    if (a.size() > 2 && start > end)
        return Value::error("invalid substring range. start: " + std::to_string(start) + ", end: " + std::to_string(end));
    if (start < 0 || start > size) return out_of_range(start);
    if (end < 0 || end > size) return out_of_range(end);
    return Value::string(from_code_points(points, static_cast<std::size_t>(start), static_cast<std::size_t>(end)));
}

bool is_space(std::uint32_t point) {
    return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || point == 0xA0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 || point == 0x202F || point == 0x205F ||
           point == 0x3000;
}

Value trim_space(Arguments a) {
    const Points points = to_code_points(a[0].as_text());
    std::size_t from = 0, to = points.size();
    while (from < to && is_space(points[from])) ++from;
    while (to > from && is_space(points[to - 1])) --to;
    return Value::string(from_code_points(points, from, to));
}

Value quoted(Arguments a) {
    const Points points = to_code_points(a[0].as_text());
    constexpr std::string_view Signs = "\a\b\f\n\r\t\v\\\"", Letters = "abfnrtv\\\"";
    std::string text = "\"";
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::size_t sign = points[i] < 0x80 ? Signs.find(static_cast<char>(points[i])) : std::string_view::npos;
        if (sign != std::string_view::npos)
            text.append("\\").push_back(Letters[sign]);
        else
            text += from_code_points(points, i, i + 1);
    }
    return Value::string(text + "\"");
}

Value format(Arguments a, Work& work) { return format_string(a[0].as_text(), a[1], false, work); }
Value format_plain(Arguments a, Work& work) { return format_string(a[0].as_text(), a[1], true, work); }

Value reverse(Arguments a) {
    Points points = to_code_points(a[0].as_text());
    std::ranges::reverse(points);
    return Value::string(from_code_points(points, 0, points.size()));
}

constexpr LibraryFunction Table[] = {
    {"string_char_at_int = string.charAt(int) -> string", char_at},
    {"string_index_of_string = string.indexOf(string) -> int", index_of<true>},
    {"string_index_of_string_int = string.indexOf(string, int) -> int", index_of<true>},
    {"string_last_index_of_string = string.lastIndexOf(string) -> int", index_of<false>},
    {"string_last_index_of_string_int = string.lastIndexOf(string, int) -> int", index_of<false>},
    {"string_lower_ascii = string.lowerAscii() -> string", lower_ascii},
    {"string_replace_string_string = string.replace(string, string) -> string", replace},
    {"string_replace_string_string_int = string.replace(string, string, int) -> string", replace},
    {"string_split_string = string.split(string) -> list(string)", split},
    {"string_split_string_int = string.split(string, int) -> list(string)", split},
    {"string_substring_int = string.substring(int) -> string", substring},
    {"string_substring_int_int = string.substring(int, int) -> string", substring},
    {"string_trim = string.trim() -> string", trim_space},
    {"string_upper_ascii = string.upperAscii() -> string", upper_ascii},
    {"list_join = list(string).join() -> string", join},
    {"list_join_string = list(string).join(string) -> string", join},
};
constexpr LibraryFunction TableV1[] = {
    {"string_format = string.format(list(dyn)) -> string", format},
    {"strings_quote = strings.quote(string) -> string", quoted},
};
constexpr LibraryFunction TableV4[] = {
    {"string_format = string.format(list(dyn)) -> string", format_plain},
    {"strings_quote = strings.quote(string) -> string", quoted},
    {"string_reverse = string.reverse() -> string", reverse},
};

}  // namespace
}  // namespace porthole::cel::strings_library

namespace porthole::cel {

std::span<const LibraryFunction> string_functions() { return strings_library::Table; }
std::span<const LibraryFunction> string_functions_v1() { return strings_library::TableV1; }
std::span<const LibraryFunction> string_functions_v4() { return strings_library::TableV4; }

}  // namespace porthole::cel
