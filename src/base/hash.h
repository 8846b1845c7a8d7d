#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace porthole {

// The Fowler-Noll-Vo hashes: fast, and the same on every machine and in every release, but no protection against chosen content. Pass an
// earlier hash as `hash` to continue it with the next part.

constexpr std::uint32_t fnv1_32(std::string_view bytes, std::uint32_t hash = 2166136261u) {
    for (const char c : bytes) hash = (hash * 16777619u) ^ static_cast<unsigned char>(c);
    return hash;
}

constexpr std::uint32_t fnv1a_32(std::string_view bytes, std::uint32_t hash = 2166136261u) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

constexpr std::uint64_t fnv1a_64(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

/// FNV-1a of 128 bits as 32 hexadecimal digits in upper case: for ETags, uids and cache keys.
std::string content_hash(std::string_view content);

}  // namespace porthole
