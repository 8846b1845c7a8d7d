#include "cel/library/utf8.h"

#include "cel/syntax/lexer.h"

namespace porthole::cel {
namespace {

constexpr std::uint32_t Replacement = 0xFFFD;

/// Takes one code point off; `valid` becomes false where there is none.
std::uint32_t take(std::string_view& text, bool& valid) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t lead = byte(0);
    const std::size_t size = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
    std::uint32_t point = size == 1 ? lead : size ? lead & (0x7Fu >> size) : Replacement;
    bool good = size > 0 && size <= text.size();
    for (std::size_t i = 1; good && i < size; ++i) {
        good = (byte(i) & 0xC0) == 0x80;
        point = point << 6 | (byte(i) & 0x3F);
    }
    constexpr std::uint32_t Least[] = {0, 0, 0x80, 0x800, 0x10000};
    good = good && point >= Least[size] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
    text.remove_prefix(good ? size : 1);
    if (good) return point;
    valid = false;
    return Replacement;
}

}  // namespace

bool is_utf8(std::string_view text) {
    bool valid = true;
    while (valid && !text.empty()) take(text, valid);
    return valid;
}

std::vector<std::uint32_t> to_code_points(std::string_view text) {
    std::vector<std::uint32_t> points;
    bool valid = true;
    while (!text.empty()) points.push_back(take(text, valid));
    return points;
}

std::string from_code_points(const std::vector<std::uint32_t>& points, std::size_t from, std::size_t to) {
    std::string text;
    for (std::size_t i = from; i < to; ++i) append_code_point(points[i], text);
    return text;
}

}  // namespace porthole::cel
