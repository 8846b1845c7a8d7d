#pragma once
#include <string_view>

#include "local_cluster/state/cluster.h"

namespace porthole::local_cluster {

/// Reads a description of a cluster on this machine, for `up --file` (docs/guide/description.md), into `options`; absent fields leave them
/// unchanged. Error: BadRequest with the field: "spec.pools[1].os: ...". Then nothing is changed.
Result<void> read_description(std::string_view yaml, ClusterOptions& options);

}  // namespace porthole::local_cluster
