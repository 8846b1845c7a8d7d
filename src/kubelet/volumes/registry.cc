#include "kubelet/volumes/registry.h"

#include "kubelet/volumes/empty_dir/empty_dir.h"
#include "kubelet/volumes/host_path/host_path.h"
#include "kubelet/volumes/object_volumes/object_volumes.h"
#include "kubelet/volumes/persistent_volume_claim/persistent_volume_claim.h"

namespace porthole::kubelet {

std::vector<std::unique_ptr<VolumePlugin>> make_volume_plugins() {
    std::vector<std::unique_ptr<VolumePlugin>> plugins;
    plugins.push_back(make_empty_dir());
    plugins.push_back(make_host_path());
    plugins.push_back(make_config_map_volume());
    plugins.push_back(make_secret_volume());
    plugins.push_back(make_downward_api_volume());
    plugins.push_back(make_projected_volume());
    plugins.push_back(make_persistent_volume_claim());
    return plugins;
}

}  // namespace porthole::kubelet
