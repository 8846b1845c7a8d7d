#pragma once
#include <string_view>

namespace porthole::local_cluster {

/// The sandbox image as an OCI archive, embedded at build time.
std::string_view pause_image();

}  // namespace porthole::local_cluster
