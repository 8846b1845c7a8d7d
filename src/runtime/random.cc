#include "runtime/random.h"

#include <cstdio>
#include <utility>

#include "base/result.h"

namespace porthole {

std::uint64_t Random::below(std::uint64_t bound) {
    CHECK(bound > 0);
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;  // the tail beyond would favour small numbers
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
    const std::uint64_t high = (next() & ~0xf000ull) | 0x4000ull;
    const std::uint64_t low = (next() & ~(3ull << 62)) | (2ull << 62);
    char text[37];
    std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                  static_cast<unsigned>(high >> 16 & 0xffff), static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                  static_cast<unsigned long long>(low & 0xffffffffffffull));
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
