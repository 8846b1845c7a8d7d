#pragma once
#include "cmd/program/runtime_setup.h"
#include "cmd/server/server_etcd.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::cmd {

/// Where the objects of a data directory's cluster are: in its file `store-location` when they are not in the directory itself. A server
/// that is started with other flags than before would begin an empty cluster with the authorities of the one that is there. Nodes would
/// believe it and end their pods. The functions without Task block shortly.

/// That the objects are not in an etcd. Error: Conflict.
Result<void> check_not_in_etcd(const local_cluster::DataDir& data);
/// That the objects are where `flags` say, as far as this machine knows: a copy that was left behind, or another cluster's objects, is not
/// taken for them, and neither is nothing where the data directory had objects. Errors: Conflict and NotFound, with the remedy; Io.
Result<void> check_known_location(const local_cluster::DataDir& data, const EtcdFlags& flags);
/// check_known_location(), and that there is something. For a server that is about to use the store of `flags`. Errors: Conflict,
/// with the remedy; those of an etcd.
Task<> check_store_location(RealWorld& world, local_cluster::DataDir data, EtcdFlags flags);
/// That no key of encryption is made for objects that another control plane has stored in the etcd, which could not read what this server
/// would write. `known`: the encryption is given, or was at an earlier start. Error: Conflict, with the remedy.
Task<> check_encryption_is_known(RealWorld& world, local_cluster::DataDir data, EtcdFlags flags, bool known);
/// PEM of those of the data directory, one of which the cluster in the etcd of `flags` must have; "" if any will do: the data directory has
/// none yet, or its server has used that etcd before (the cluster of another control plane gets new authorities some time after the first
/// start). Error: Io.
Result<std::string> required_authorities(const local_cluster::DataDir& data, const EtcdFlags& flags);
/// The objects are in the store of `flags` from now on. Error: Io.
Result<void> note_store_location(const local_cluster::DataDir& data, const EtcdFlags& flags);

}  // namespace porthole::cmd
