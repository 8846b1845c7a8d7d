#pragma once
#include <string>

#include "base/result.h"
#include "local_cluster/data_dir.h"

namespace porthole::local_cluster {

struct Cluster;

/// Writes the administrator's way into the cluster, once beside the data and once into `path`, where kubectl looks, and
/// makes it the current context. What was current before is written down in the data directory.
Result<void> enter_kubeconfig(const DataDir& data, const Cluster& cluster, const std::string& path);
/// Whether enter_kubeconfig could do that, asked before there is a cluster. Makes the folder of the file.
Result<void> check_kubeconfig(const std::string& path);
/// Takes it out of that file again and makes current what was before. What somebody else has put in its place stays.
Result<void> leave_kubeconfig(const DataDir& data);

}  // namespace porthole::local_cluster
