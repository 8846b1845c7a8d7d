#pragma once

namespace porthole {

inline constexpr const char* PortholeVersion = "0.1.0";
/// The API level served; the server says so at /version.
inline constexpr const char* KubernetesVersion = "v1.36.0";

}  // namespace porthole
