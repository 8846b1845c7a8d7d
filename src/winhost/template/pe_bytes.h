#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// Numbers in the bytes of a Portable Executable.
namespace porthole::winhost {

inline constexpr std::size_t HeaderOffsetAt = 0x3C;
inline constexpr std::size_t FileHeaderSize = 24;  ///< with the signature
inline constexpr std::size_t SectionHeaderSize = 40;
inline constexpr std::size_t MostSections = 96;             ///< Wine's loader refuses a file with more
inline constexpr std::uint32_t LargestAlignment = 0x10000;  ///< also in the file: rounding up to it then cannot wrap for any real size

/// 0 behind the end.
template <class T>
T get(std::string_view bytes, std::size_t at) {
    T value{};
    if (at <= bytes.size() && sizeof value <= bytes.size() - at) std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}
/// Requires: the place exists.
template <class T>
void put(std::string& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

inline std::uint32_t round_up(std::uint32_t value, std::uint32_t step) { return step == 0 ? value : (value + step - 1) / step * step; }

}  // namespace porthole::winhost
