#include "schema/json/json_slicer.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "schema/scalar.h"

namespace porthole::schema {
namespace {

/// What skipping over a value looks at; most characters are none of these.
constexpr std::array<bool, 256> IsNesting = [] {
    std::array<bool, 256> table{};
    for (const unsigned char c : std::string_view("\"{}[]")) table[c] = true;
    return table;
}();

/// Where the first quote or backslash at or after `from` is, or past the end. Looks at eight characters at once: half of a text is in
/// strings.
std::size_t find_string_mark(std::string_view text, std::size_t from) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t Each = 0x0101010101010101, High = 0x80 * Each;
    constexpr std::size_t Step = sizeof(std::uint64_t);
    // The lowest zero byte, if there is one, has its highest bit set; bytes above it may have, too.
    const auto zeros = [](std::uint64_t bytes) { return (bytes - Each) & ~bytes & High; };
    for (; from + Step <= text.size(); from += Step) {
        const auto characters = load<std::uint64_t>(text.data() + from);
        const std::uint64_t marks = zeros(characters ^ '"' * Each) | zeros(characters ^ '\\' * Each);
        if (marks != 0) return from + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
    }
    while (from < text.size() && text[from] != '"' && text[from] != '\\') ++from;
    return from;
}

}  // namespace

Error JsonSlicer::malformed(const char* what) { return Error(Reason::BadRequest, std::string("malformed JSON: ") + what); }

Result<std::string_view> JsonSlicer::value() {
    skip_space();
    const std::size_t start = position_;
    if (at_end()) return malformed("unexpected end");
    const char first = text_[position_];
    if (first == '"') {
        if (!skip_string()) return malformed("unterminated string");
    } else if (first == '{' || first == '[') {
        TRY_VOID(skip_nested());
    } else {
        position_ = std::min(text_.find_first_of(",]} \t\r\n", position_), text_.size());
        if (position_ == start) return malformed("a value is missing");
    }
    return text_.substr(start, position_ - start);
}

Result<std::vector<std::string_view>> JsonSlicer::elements() {
    std::vector<std::string_view> elements;
    TRY_VOID(each([&]() -> Result<void> {
        TRY(const std::string_view one, value());
        elements.push_back(one);
        return {};
    }));
    return elements;
}

Result<std::string_view> JsonSlicer::member(std::string_view key) {
    if (!take('{')) return malformed("an object is expected");
    if (take('}')) return std::string_view();
    do {
        TRY(const std::string_view name, value());
        if (!take(':')) return malformed("a colon is missing");
        TRY(const std::string_view found, value());
        if (name.size() == key.size() + 2 && name.front() == '"' && name.substr(1, key.size()) == key) return found;
    } while (take(','));
    if (!take('}')) return malformed("unterminated object");
    return std::string_view();
}

bool JsonSlicer::skip_string() {
    std::size_t position = position_ + 1;
    while ((position = find_string_mark(text_, position)) < text_.size() && text_[position] != '"')
        position += 2;  // an escape has at least two characters
    position_ = position + 1;
    return position < text_.size();
}

Result<void> JsonSlicer::skip_nested() {
    std::size_t depth = 0;
    for (;;) {
        std::size_t position = position_;
        while (position < text_.size() && !IsNesting[static_cast<unsigned char>(text_[position])]) ++position;
        position_ = position;
        if (at_end()) return malformed("unterminated object or array");
        const char c = text_[position];
        if (c == '"') {
            if (!skip_string()) return malformed("unterminated string");
            continue;
        }
        ++position_;
        if (c == '{' || c == '[')
            ++depth;
        else if (--depth == 0)
            return {};
    }
}

}  // namespace porthole::schema
