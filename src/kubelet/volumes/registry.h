#pragma once
#include <memory>
#include <vector>

#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

/// All plugins, in the order in which they are asked.
std::vector<std::unique_ptr<VolumePlugin>> make_volume_plugins();

}  // namespace porthole::kubelet
