#pragma once
#include <string>

#include "local_cluster/state/cluster.h"

namespace porthole::local_cluster {

/// Whether this machine has what a cluster needs: programs, network ranges that are not in use, and ports that are free or used by the
/// cluster's own processes. Nothing is changed. Error: one line with the remedy.
Result<void> check_machine(const Cluster& cluster);
/// The part of it about programs: what nodes of these systems need.
Result<void> check_programs(const ClusterOptions& options);
/// Whether a server could listen on `port` of an IPv4 address; "" for every one.
bool port_is_free(std::uint16_t port, const std::string& address = "");

}  // namespace porthole::local_cluster
