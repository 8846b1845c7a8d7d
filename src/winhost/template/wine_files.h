#pragma once
#include <cstddef>
#include <string>
#include <string_view>

/// What the beginning of a file of a Wine says.
namespace porthole::winhost {

/// The version in wine.inf, "10.0"; "unknown" if it has none. At most 32 letters, digits, points and hyphens, as nodes show it.
std::string version_in(std::string_view information);

inline constexpr std::size_t ElfHeaderSize = 64;
/// Of a program or library, whose first ElfHeaderSize bytes are enough; false for a shorter one.
bool is_for_this_machine(std::string_view file);

}  // namespace porthole::winhost
