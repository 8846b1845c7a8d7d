#include "cel/values/keyed_hash.h"

#include <bit>
#include <cstring>
#include <random>

namespace porthole::cel {
namespace {

struct Key {
    std::uint64_t first, second;
};

const Key& key() {
    static const Key random = [] {
        std::random_device device;
        const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
        return Key{word(), word()};
    }();
    return random;
}

struct SipState {
    std::uint64_t v0, v1, v2, v3;

    void round() {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
    }
    void take(std::uint64_t word) {
        v3 ^= word;
        round();
        v0 ^= word;
    }
};

template <class T>
std::uint64_t hash_of(const T* data, std::size_t count) {
    return keyed_hash(std::string_view(reinterpret_cast<const char*>(data), count * sizeof(T)));
}

}  // namespace

std::uint64_t keyed_hash(std::string_view bytes) {
    const Key& k = key();
    SipState state{k.first ^ 0x736f6d6570736575, k.second ^ 0x646f72616e646f6d, k.first ^ 0x6c7967656e657261,
                   k.second ^ 0x7465646279746573};
    std::uint64_t last = std::uint64_t{bytes.size()} << 56;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), 8);
        state.take(word);
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) last |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    state.take(last);
    state.v2 ^= 0xff;
    for (int i = 0; i < 3; ++i) state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

std::uint64_t keyed_hash(double number) {
    const double one = number == 0 ? 0.0 : number;
    return hash_of(&one, 1);
}
std::uint64_t keyed_hash(std::int64_t number) { return hash_of(&number, 1); }
std::uint64_t keyed_hash(std::span<const std::size_t> hashes) { return hash_of(hashes.data(), hashes.size()); }

}  // namespace porthole::cel
