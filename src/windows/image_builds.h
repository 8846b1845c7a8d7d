#pragma once
#include <cstdint>
#include <string_view>

namespace porthole::windows {

/// The Windows build in an image's tag: 20348 for "mcr.microsoft.com/windows/nanoserver:ltsc2022". 0 if the tag contains none, or the image
/// is not one of Windows.
std::uint32_t build_of_image(std::string_view image);

/// Whether the name or tag indicates an image for Windows.
bool is_windows_image(std::string_view image);

}  // namespace porthole::windows
