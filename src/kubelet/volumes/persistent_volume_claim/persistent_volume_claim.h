#pragma once
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

std::unique_ptr<VolumePlugin> make_persistent_volume_claim();

}  // namespace porthole::kubelet
