#pragma once
#include <memory>

#include "kubelet/cri/cri.h"
#include "winhost/images/content/os_version.h"
#include "winhost/images/image_store.h"

namespace porthole::winhost {

/// CRI's image calls over `images`, which outlives it. `container_folder` contains the writable layers.
///
/// An image for a build that `host` does not run, from before the host was changed to another build, is listed but has no status: a kubelet
/// that may pull it then does, and finds the entry for the host, as on Windows after an upgrade. If it cannot be pulled, the error also
/// says so.
std::unique_ptr<kubelet::ImageService> make_image_service(EventLoop& loop, ImageStore& images, OsVersion host,
                                                          std::string container_folder);

}  // namespace porthole::winhost
