#pragma once
#include "kubelet/volumes/atomic_writer/atomic_writer.h"
#include "kubelet/volumes/framework/plugin.h"

namespace porthole::kubelet {

// Volumes whose files come out of the API: they share one way of choosing keys and one atomic writer, and are brought up to
// date with every set_up.
std::unique_ptr<VolumePlugin> make_config_map_volume();
std::unique_ptr<VolumePlugin> make_secret_volume();
std::unique_ptr<VolumePlugin> make_downward_api_volume();
std::unique_ptr<VolumePlugin> make_projected_volume();

/// The files for `items` out of `data` (all keys when there are no items). Error: BadRequest for a key that is missing.
Result<Payload> payload_of(const std::map<std::string, std::string>& data, const std::vector<core::KeyToPath>& items,
                           std::uint32_t default_mode, bool optional, const std::string& what);

}  // namespace porthole::kubelet
