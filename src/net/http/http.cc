#include "net/http/http.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::net {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_unreserved(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string_view Headers::get(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, [](const auto& field) -> std::string_view { return field.first; });
    return found == fields_.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const auto& [key, value] : fields_) {
        if (key == name) values.push_back(value);
    }
    return values;
}

bool Headers::has(std::string_view name) const {
    return std::ranges::any_of(fields_, [&](const auto& field) { return field.first == name; });
}

std::string percent_decode(std::string_view text, bool plus_is_space) {
    const std::size_t plain = std::min(text.find('%'), plus_is_space ? text.find('+') : text.npos);
    std::string decoded(text.substr(0, plain));  // all of it, nearly always
    if (plain == text.npos) return decoded;
    decoded.reserve(text.size());
    for (std::size_t i = plain; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
            decoded += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
        }
    }
    return decoded;
}

std::vector<std::string> split_path(std::string_view path) {
    std::vector<std::string> segments;
    segments.reserve(8);  // of a subresource in a group
    for (const std::string_view segment : split_views(path, '/'))
        if (!segment.empty()) segments.push_back(percent_decode(segment));
    return segments;
}

std::string percent_encode(std::string_view text) {
    constexpr char Digits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const unsigned char c : text) {
        if (is_unreserved(c)) {
            encoded += static_cast<char>(c);
        } else {
            encoded += '%';
            encoded += Digits[c >> 4];
            encoded += Digits[c & 15];
        }
    }
    return encoded;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        const std::string_view value = equals == pair.npos ? std::string_view() : pair.substr(equals + 1);
        pairs.emplace_back(percent_decode(pair.substr(0, equals), true), percent_decode(value, true));
    }
    return pairs;
}

}  // namespace porthole::net
