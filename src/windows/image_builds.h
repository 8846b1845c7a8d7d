#pragma once
#include <cstdint>
#include <string_view>

namespace porthole::windows {

/// The build of Windows that an image's tag says it is for: 20348 of "mcr.microsoft.com/windows/nanoserver:ltsc2022". 0 where the
/// tag says none, or the image is not one of Windows.
std::uint32_t build_of_image(std::string_view image);

/// Whether the name or tag says that the image is one for Windows.
bool is_windows_image(std::string_view image);

}  // namespace porthole::windows
