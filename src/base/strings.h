#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace porthole {

/// The characters for which isspace() is true in the C locale.
inline constexpr std::string_view Whitespace = " \t\n\v\f\r";

/// ASCII letters only, in any locale: other bytes, such as those of UTF-8 sequences, are not changed.
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
bool equal_ignoring_case(std::string_view left, std::string_view right);

/// `text` without the `blanks` at both ends. The result points into `text`.
std::string_view trim(std::string_view text, std::string_view blanks = Whitespace);

/// The parts between separators, empty ones included: "" is one empty part, "a,,b," is "a", "", "b" and "".
std::vector<std::string> split(std::string_view text, char separator);
/// As split(), but the parts point into `text`, which must outlive them.
std::vector<std::string_view> split_views(std::string_view text, char separator);
/// As split(), without the parts that are empty.
std::vector<std::string> split_nonempty(std::string_view text, char separator);
/// A list as in flags: "a, b,,c " is "a", "b" and "c".
std::vector<std::string> split_list(std::string_view text, char separator = ',');
/// The words between runs of whitespace.
std::vector<std::string> split_words(std::string_view text);

/// The text in double quotes, with Go's escapes (%q).
std::string quote(std::string_view text);

/// The results of `text_of` for each item, joined with `separator`.
template <class Range, class TextOf>
std::string join(const Range& items, std::string_view separator, TextOf text_of) {
    std::string joined;
    bool first = true;
    for (const auto& item : items) {
        if (!first) joined += separator;
        first = false;
        joined += text_of(item);
    }
    return joined;
}

/// The items, which are strings, joined with `separator`.
template <class Range>
std::string join(const Range& items, std::string_view separator) {
    return join(items, separator, [](std::string_view item) { return item; });
}

}  // namespace porthole
