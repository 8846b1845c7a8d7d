#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers {

/// Bytes of the node's allocatable storage that `volumes`, those on it, leave: less than zero if it has become smaller. Until the node
/// reports its resources, there are none; nullopt if it reports others but not its storage.
std::optional<Quantity> room_beside(const api::core::v1::Node& node,
                                    const std::vector<std::shared_ptr<const api::core::v1::PersistentVolume>>& volumes);

}  // namespace porthole::controllers
