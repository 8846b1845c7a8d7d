#pragma once
#include <string_view>

namespace porthole::cmd {

/// The sandbox image of every Windows version that hosts play, as an OCI archive, embedded at build time.
std::string_view windows_pause_image();

}  // namespace porthole::cmd
