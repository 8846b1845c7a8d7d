#include "schema/json/json_slicer.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "schema/scalar.h"

namespace porthole::schema {
namespace {

/// A bit for each character of a block, the lowest for the first.
using Mask = std::uint64_t;
constexpr std::size_t BlockSize = 64;

/// Where a block has quotes, backslashes, opening and closing brackets of either sort.
struct Marks {
    explicit Marks(const char* block) {
        using Block = char __attribute__((vector_size(BlockSize)));
        const auto mask = [](const auto& comparison) {
            using Bits = bool __attribute__((ext_vector_type(BlockSize)));
            return __builtin_bit_cast(Mask, __builtin_convertvector(comparison, Bits));
        };
        Block characters;
        std::memcpy(&characters, block, sizeof characters);
        const Block folded = characters | 0x20;  // '[' and ']' become '{' and '}', and nothing else does
        static_assert(('[' | 0x20) == '{' && (']' | 0x20) == '}');
        quotes = mask(characters == '"');
        backslashes = mask(characters == '\\');
        opening = mask(folded == '{');
        closing = mask(folded == '}');
    }
    Mask quotes, backslashes, opening, closing;
};

/// Goes through a text in blocks and knows what is in strings. Example, a block of 12:
///     text      {"a\"}":[1]}
///     escaped   ....#.......    what a backslash takes its meaning from
///     inside    .#####......    from the quote that begins a string to the last character in it
struct StringTracker {
    /// Of the next block: the characters in strings.
    Mask inside(const Marks& marks) {
        Mask within = marks.quotes & ~escaped(marks.backslashes);
        for (int step = 1; step < 64; step *= 2) within ^= within << step;  // each bit: whether the quotes so far are odd
        within ^= in_string;
        in_string = within >> 63 ? ~Mask(0) : 0;
        return within;
    }
    Mask escaped(Mask backslashes) {
        Mask found = std::exchange(next_is_escaped, 0);
        for (Mask rest = backslashes & ~found; rest != 0;) {
            const Mask first = rest & -rest, after = first << 1;
            found |= after;
            rest &= ~(first | after);
            if (after == 0) next_is_escaped = 1;
        }
        return found;
    }
    Mask in_string = 0;        ///< all bits while the last block ended in a string
    Mask next_is_escaped = 0;  ///< the next block's first bit
};

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
    StringTracker strings;
    int depth = 0;
    for (; !at_end(); position_ += BlockSize) {
        char room[BlockSize] = {};
        const bool is_whole = position_ + BlockSize <= text_.size();
        if (!is_whole) rest().copy(room, BlockSize);
        const Marks marks(is_whole ? text_.data() + position_ : room);
        const Mask outside = ~strings.inside(marks), opening = marks.opening & outside, closing = marks.closing & outside;
        if (std::popcount(closing) < depth) {
            depth += std::popcount(opening) - std::popcount(closing);
            continue;
        }
        for (Mask rest = opening | closing; rest != 0; rest &= rest - 1) {
            const Mask bracket = rest & -rest;
            depth += opening & bracket ? 1 : -1;
            if (depth > 0) continue;
            position_ += static_cast<std::size_t>(std::countr_zero(bracket)) + 1;
            return {};
        }
    }
    return malformed(strings.in_string ? "unterminated string" : "unterminated object or array");
}

}  // namespace porthole::schema
