#pragma once
#include <string>
#include <vector>

#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/cluster.h"

namespace porthole::local_cluster {

/// One of a cluster's API servers, as a process.
struct ApiServerProcess {
    std::string name;     ///< "server", or "server-1" and so on: the process's, and its log's
    std::string address;  ///< where this machine reaches it
    DataDir data;         ///< the cluster's own for the first one
};
std::vector<ApiServerProcess> api_servers(const DataDir& data, const Cluster& cluster);

/// The command line of that `porthole server`. Requires: with several servers, the etcd's place has been chosen.
ChildCommand api_server_command(const DataDir& data, const Cluster& cluster, const ApiServerProcess& server);

/// Creates the token with which several servers share their keys, if it is missing. Error: Io.
Result<void> ensure_server_token(const DataDir& data);

}  // namespace porthole::local_cluster
