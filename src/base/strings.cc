#include "base/strings.h"

#include <algorithm>

#include <fmt/format.h>

namespace porthole {

std::string to_lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = to_lower(c);
    return result;
}

std::string to_upper(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = to_upper(c);
    return result;
}

bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, [](char a, char b) { return to_lower(a) == to_lower(b); });
}

std::string_view trim(std::string_view text, std::string_view blanks) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
    const std::vector<std::string_view> parts = split_views(text, separator);
    return {parts.begin(), parts.end()};
}

std::vector<std::string_view> split_views(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string> split_nonempty(std::string_view text, char separator) {
    std::vector<std::string> parts = split(text, separator);
    std::erase(parts, "");
    return parts;
}

std::vector<std::string> split_list(std::string_view text, char separator) {
    std::vector<std::string> items;
    for (const std::string_view part : split_views(text, separator))
        if (const std::string_view item = trim(part); !item.empty()) items.emplace_back(item);
    return items;
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    for (text = trim(text); !text.empty(); text = trim(text)) {
        words.emplace_back(text.substr(0, text.find_first_of(Whitespace)));
        text.remove_prefix(words.back().size());
    }
    return words;
}

std::string quote(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\a':
                out += "\\a";
                break;
            case '\b':
                out += "\\b";
                break;
            case '\f':
                out += "\\f";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\v':
                out += "\\v";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                    out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
                else
                    out += c;
        }
    }
    return out + '"';
}

}  // namespace porthole
