#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/cluster.h"
#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// A member of the etcd of a cluster with several servers.
struct EtcdMember {
    std::string name;     ///< "etcd-1", also its process's
    std::string address;  ///< of loopback
    std::string url;      ///< for clients
    std::string peer_url;
    std::filesystem::path data;
};

/// The members of an etcd that a member without data begins with them, or joins.
struct EtcdPeers {
    std::vector<EtcdMember> members;
    bool exist = false;
};

/// Where no program of this machine listens, for `count` members. Error: AlreadyExists.
Result<EtcdPlace> choose_etcd_place(const DataDir& data, int count);

/// As many as there are servers; none for one server. Requires: the place has been chosen.
std::vector<EtcdMember> etcd_members(const DataDir& data, const Cluster& cluster);
/// Their addresses for clients.
std::vector<std::string> etcd_urls(const DataDir& data, const Cluster& cluster);

/// Creates the certificates with which members and servers authenticate each other, if they are missing or in the last third of their life,
/// as files below data.etcd(): `ca.crt`, a pair for each member, and the pair `client`. All are issued by one authority, whose key is not
/// kept, so that no further one can be issued. Requires: no member runs. Errors: Io.
Result<void> ensure_etcd_certificates(const DataDir& data, const Cluster& cluster, SystemTime now);

/// The files of these certificates for a client of etcd.
struct EtcdClientFiles {
    std::filesystem::path ca, certificate, key;
};
EtcdClientFiles etcd_client_files(const DataDir& data);
/// The same with the members' URLs, as flags of `porthole server` and of commands that read an etcd.
std::vector<std::string> etcd_client_flags(const DataDir& data, const Cluster& cluster);

/// The program `etcd` as that member: it syncs to disk before it answers, and its database and the history of its log are limited. `peers`
/// are what it is told to join if it has no data.
ChildCommand etcd_command(const DataDir& data, const EtcdMember& member, const EtcdPeers& peers);
/// Whether the cluster's objects are in etcd and this member's part of them is gone: it has no log.
bool has_lost_data(const DataDir& data, const EtcdMember& member);
/// Has the other members take a member that has_lost_data() for a new one: store::etcd::readmit(). Errors: Io, and those of that.
Task<EtcdPeers> readmit_etcd_member(AsioLoop& loop, DataDir data, Cluster cluster, EtcdMember member);

/// Whether a member answers, has a leader, and is it.
struct EtcdHealth {
    bool healthy = false, leads = false;
    std::string why_not;
};
/// Asks for up to two seconds. Fails only if cancelled.
Task<EtcdHealth> ask_etcd_member(AsioLoop& loop, DataDir data, EtcdMember member);

}  // namespace porthole::local_cluster
