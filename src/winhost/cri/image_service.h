#pragma once
#include <memory>

#include "kubelet/cri/cri.h"
#include "winhost/images/content/os_version.h"
#include "winhost/images/image_store.h"

namespace porthole::winhost {

/// CRI's image calls over `images`, which outlives it. `container_folder` is where writable layers are.
///
/// An image for a build that `host` does not run, left from before the host got another one, is listed but has no status: a kubelet that
/// may pull it then does, which finds the entry for the host, as on Windows after an upgrade. Where it cannot be pulled, the error says so
/// too.
std::unique_ptr<kubelet::ImageService> make_image_service(EventLoop& loop, ImageStore& images, OsVersion host,
                                                          std::string container_folder);

}  // namespace porthole::winhost
