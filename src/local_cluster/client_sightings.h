#pragma once
#include "local_cluster/state/data_dir.h"
#include "node_join/ca_rotation.h"

namespace porthole::local_cluster {

/// What the servers below a data directory have recorded while the authority is rotated. Of a client that several of them have seen, the
/// newest certificate counts. Errors: Io, BadRequest.
Result<node_join::ClientSightings> read_client_sightings(const DataDir& data);

}  // namespace porthole::local_cluster
