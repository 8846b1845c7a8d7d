#pragma once
#include <string_view>

namespace porthole::cmd {

/// The sandbox image as an OCI archive, embedded at build time.
std::string_view pause_image();

}  // namespace porthole::cmd
