#pragma once
#include <string>
#include <vector>

#include "local_cluster/control_plane/api_servers.h"
#include "local_cluster/control_plane/etcd_members.h"
#include "schema/value.h"

namespace porthole::local_cluster {

/// The state of one of several API servers, for people.
struct ApiServerState {
    ApiServerProcess server;
    std::string status;              ///< "ready", or why not
    std::vector<std::string> leads;  ///< "kube-scheduler"
};
/// The same for a member of its etcd.
struct EtcdMemberState {
    EtcdMember member;
    EtcdHealth health;
};
/// The result of ask_control_plane(); plain values.
struct ControlPlaneState {
    std::vector<ApiServerState> servers;
    std::vector<EtcdMemberState> members;
};

/// Asks all servers and members of a cluster with several servers concurrently, as its administrator, for two seconds. Error: that of the
/// keys in the data directory.
Task<ControlPlaneState> ask_control_plane(AsioLoop& loop, DataDir data, Cluster cluster);

/// {"servers": …, "etcdMembers": …}, as `status` prints it.
schema::Value to_value(const ControlPlaneState& state);

}  // namespace porthole::local_cluster
