#pragma once
#include <string>
#include <vector>

#include "local_cluster/state/cluster.h"
#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// Whether a cluster with the authorities `ca_pem` refuses the certificate of `node`, which has joined: it has expired, or its authority
/// was replaced before the node had another. Requires for a Windows node: its host runs, since its files cannot be read at other times.
bool is_refused(const DataDir& data, const NodeHost& node, const std::string& ca_pem, SystemTime now);
/// The names of all such nodes of a cluster that runs.
std::vector<std::string> refused_nodes(const DataDir& data, const Cluster& cluster, const std::string& ca_pem, SystemTime now);

}  // namespace porthole::local_cluster
