#include "local_cluster/client_sightings.h"

namespace porthole::local_cluster {

Result<node_join::ClientSightings> read_client_sightings(const DataDir& data) {
    TRY(node_join::ClientSightings newest, node_join::read_sightings(data.pki()));
    std::error_code error;
    for (const auto& server : std::filesystem::directory_iterator(data.further_servers(), error)) {
        TRY(const auto sightings, node_join::read_sightings(DataDir(server.path()).pki()));
        for (const auto& [name, seen] : sightings) {
            const auto [known, added] = newest.try_emplace(name, seen);
            if (!added && known->second.time < seen.time) known->second = seen;
        }
    }
    return newest;
}

}  // namespace porthole::local_cluster
