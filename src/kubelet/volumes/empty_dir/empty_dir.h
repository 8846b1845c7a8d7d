#pragma once
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

std::unique_ptr<VolumePlugin> make_empty_dir();

}  // namespace porthole::kubelet
