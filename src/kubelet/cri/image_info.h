#pragma once
#include <string_view>

namespace porthole::kubelet {

/// Key in ImageStatusResponse.info of Porthole's own runtime, in verbose answers without an image: why the node's image of that name cannot
/// be used. Other runtimes do not set it.
inline constexpr std::string_view UnusableImage = "unusable";

}  // namespace porthole::kubelet
