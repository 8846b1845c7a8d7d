#include "runtime/random.h"

#include <utility>

#include "base/result.h"

namespace porthole {

std::uint64_t Random::below(std::uint64_t bound) {
    CHECK(bound > 0);
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;  // the tail beyond would favor small numbers
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return value % bound;
}

double Random::fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::string Random::bytes(std::size_t count) {
    std::string out(count, '\0');
    for (char& byte : out) byte = static_cast<char>(next() >> 56);
    return out;
}

std::string Random::pick(std::size_t count, std::string_view alphabet) {
    std::string out(count, '\0');
    for (char& letter : out) letter = alphabet[below(alphabet.size())];
    return out;
}

std::string Random::uuid() {
    constexpr char Digits[] = "0123456789abcdef";
    std::string text = "00000000-0000-4000-0000-000000000000";
    std::uint64_t bits = next();
    for (std::size_t i = 0, drawn = 0; i < text.size(); ++i) {
        if (text[i] != '0') continue;  // the version and what stands between
        if (++drawn == 16) bits = next();
        text[i] = Digits[bits & 15];
        bits >>= 4;
    }
    constexpr std::size_t Variant = 19;
    text[Variant] = "89ab"[text[Variant] & 3];
    return text;
}

std::uint64_t SystemRandom::next() {
    if (used_ == numbers_.size()) {
        fill();
        used_ = 0;
    }
    return std::exchange(numbers_[used_++], 0);
}

std::uint64_t SeededRandom::next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

}  // namespace porthole
