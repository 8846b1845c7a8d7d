#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace porthole {

// Fowler, Noll and Vo's hashes: fast, the same on every machine and in every release, but no protection against someone who chooses the
// content. A hash passed as `hash` is continued, so that parts can be hashed one after another.

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

/// FNV-1a of 128 bits in 32 hexadecimal digits, A to F in upper case: for ETags, uids and cache keys.
std::string content_hash(std::string_view content);

}  // namespace porthole
