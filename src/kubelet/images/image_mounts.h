#pragma once
#include <memory>
#include <string>

#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// The seam to the container runtime for images as directories, for which CRI has no call.
class ImageMounts {
public:
    virtual ~ImageMounts() = default;
    /// Shows the files of an image that is on the node at `directory`, which exists, until that is unmounted. `image` is its id, as CRI has
    /// it. Errors: NotFound without the runtime's program; Io, with what it printed.
    virtual Task<> mount(std::string image, std::string directory) = 0;
};

/// By containerd's program ctr. `endpoint`: the socket of containerd, also with unix://. `processes` outlives it.
std::unique_ptr<ImageMounts> make_containerd_image_mounts(ProcessRunner& processes, std::string endpoint);

}  // namespace porthole::kubelet
