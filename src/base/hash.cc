#include "base/hash.h"

namespace porthole {

std::string content_hash(std::string_view content) {
    __extension__ using Uint128 = unsigned __int128;
    constexpr Uint128 prime = (Uint128{1} << 88) + 0x13b;
    Uint128 hash = (Uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
    for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
    std::string text;
    for (int shift = 124; shift >= 0; shift -= 4) text += "0123456789ABCDEF"[static_cast<unsigned>(hash >> shift) & 15];
    return text;
}

}  // namespace porthole
