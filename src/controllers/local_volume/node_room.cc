#include "controllers/local_volume/node_room.h"

namespace porthole::controllers {

std::optional<Quantity> room_beside(const api::core::v1::Node& node,
                                    const std::vector<std::shared_ptr<const api::core::v1::PersistentVolume>>& volumes) {
    const auto found = node.status.allocatable.find("ephemeral-storage");
    if (found == node.status.allocatable.end()) return std::nullopt;
    Quantity room = Quantity::from_value(found->second.value(), Quantity::Format::BinarySi);
    for (const auto& volume : volumes)
        if (const auto size = volume->spec.capacity.find("storage"); size != volume->spec.capacity.end()) room -= size->second;
    return room;
}

}  // namespace porthole::controllers
