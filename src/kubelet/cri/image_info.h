#pragma once
#include <string_view>

namespace porthole::kubelet {

/// Key of ImageStatusResponse.info of our own runtime, in verbose answers without an image: why the image of that name which the node has
/// is of no use to it. Other runtimes do not have it.
inline constexpr std::string_view UnusableImage = "unusable";

}  // namespace porthole::kubelet
