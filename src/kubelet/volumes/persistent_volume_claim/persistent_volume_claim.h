#pragma once
#include "kubelet/volumes/plugin.h"

namespace porthole::kubelet {

std::unique_ptr<VolumePlugin> make_persistent_volume_claim();

}  // namespace porthole::kubelet
