#pragma once
#include "kubelet/volumes/plugin.h"

namespace porthole::kubelet {

std::unique_ptr<VolumePlugin> make_empty_dir();

}  // namespace porthole::kubelet
