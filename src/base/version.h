#pragma once

namespace porthole {

inline constexpr const char* PortholeVersion = "0.1.0";
/// The Kubernetes API version served, as reported at /version.
inline constexpr const char* KubernetesVersion = "v1.36.0";
inline constexpr int KubernetesMinor = 36;

}  // namespace porthole
