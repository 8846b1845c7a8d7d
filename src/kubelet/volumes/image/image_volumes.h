#pragma once
#include <memory>
#include <string>

#include "api/core_v1.h"
#include "runtime/task.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// The source of image volumes.
class ImageVolumes {
public:
    virtual ~ImageVolumes() = default;
    /// Pulls the image according to its policy; its CRI id. Safe to repeat. Error: its message says why the pod waits.
    virtual Task<std::string> pull(std::shared_ptr<const core::Pod> pod, core::ImageVolumeSource source) = 0;
    /// Mounts the files of a pulled image at `directory`, which exists.
    virtual Task<> mount(std::string image, std::string directory) = 0;
};

}  // namespace porthole::kubelet
