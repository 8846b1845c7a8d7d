#pragma once

namespace porthole::cmd {

inline constexpr const char* Version = "0.1.0";
/// The API level served; the server says so at /version.
inline constexpr const char* KubernetesVersion = "v1.36.0";

}  // namespace porthole::cmd
