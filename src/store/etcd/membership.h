#pragma once
#include <string>

#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Makes room for a member whose data are lost: what has `peer_url` is taken out of the cluster and added as a new member, which has to be
/// started with an empty directory and `--initial-cluster-state existing`. Under its old identity, an empty member could vote for one that
/// lacks what only the two of them had acknowledged. Returns the members with the new one, which is to be started with these and no others
/// as its initial cluster.
///
/// May be repeated from the beginning after any failure. Requires: the lost member does not run. Errors: those of Client, such as
/// InternalError while etcd does not change its members because too few of them run, or not for long enough.
Task<std::vector<ClusterMember>> readmit(Client& client, std::string peer_url);

}  // namespace porthole::store::etcd
