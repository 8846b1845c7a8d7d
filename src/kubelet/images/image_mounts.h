#pragma once
#include <memory>
#include <string>

#include "runtime/processes/process.h"

namespace porthole::kubelet {

/// The seam for mounting images as directories, for which CRI has no call.
class ImageMounts {
public:
    virtual ~ImageMounts() = default;
    /// Mounts the files of an image of the node at `directory`, which exists, until that is unmounted. `image` is its CRI id. Errors:
    /// NotFound without the runtime's program; Io, with the program's output.
    virtual Task<> mount(std::string image, std::string directory) = 0;
};

/// By containerd's program ctr. `endpoint`: the socket of containerd, also with unix://. `processes` outlives it.
std::unique_ptr<ImageMounts> make_containerd_image_mounts(ProcessRunner& processes, std::string endpoint);

}  // namespace porthole::kubelet
