#include "controllers/local_volume/node_room.h"

namespace porthole::controllers {

std::optional<Quantity> room_beside(const api::core::v1::Node& node,
                                    const std::vector<std::shared_ptr<const api::core::v1::PersistentVolume>>& volumes) {
    const auto& allocatable = node.status.allocatable;
    const auto found = allocatable.find("ephemeral-storage");
    const bool has_said = found != allocatable.end();
    if (!has_said && !allocatable.empty()) return std::nullopt;
    Quantity room = Quantity::from_value(has_said ? found->second.value() : 0, Quantity::Format::BinarySi);
    for (const auto& volume : volumes)
        if (const auto size = volume->spec.capacity.find("storage"); size != volume->spec.capacity.end()) room -= size->second;
    return room;
}

}  // namespace porthole::controllers
