#pragma once
#include <memory>

#include "kubelet/cri/cri.h"
#include "winhost/images/image_store.h"

namespace porthole::winhost {

/// CRI's image calls over `images`, which outlives it. `container_folder` is where writable layers are.
std::unique_ptr<kubelet::ImageService> make_image_service(EventLoop& loop, ImageStore& images, std::string container_folder);

}  // namespace porthole::winhost
