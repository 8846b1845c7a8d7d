#pragma once
#include <string_view>

#include "local_cluster/cluster.h"

namespace porthole::local_cluster {

/// Reads a description of a cluster on this machine, as `up --file` takes it (docs/guide/description.md), into `options`; fields that it
/// leaves out stay as they are. Error: BadRequest, naming the field: "spec.pools[1].os: ...". Then nothing is changed.
Result<void> read_description(std::string_view yaml, ClusterOptions& options);

}  // namespace porthole::local_cluster
