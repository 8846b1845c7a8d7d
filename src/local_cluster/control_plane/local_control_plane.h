#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/progress_report.h"
#include "local_cluster/control_plane/cluster_api.h"
#include "local_cluster/control_plane/etcd_members.h"
#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// The API servers of a cluster on this machine, and their etcd if there are several: their prerequisites and the order of their start.
///
/// References outlive it and its tasks.
class LocalControlPlane {
public:
    struct Seams {
        AsioLoop& loop;
        ProcessRunner& processes;
        ProgressReport& report;
        Logger log;
        std::function<void(std::string name, NextCommand next)> keep_running;  ///< the supervisor's
    };
    LocalControlPlane(Seams seams, const DataDir& data, Cluster& cluster, ClusterApi& api);

    /// Creates the files that must exist before any process starts, and chooses addresses. Errors: Io, AlreadyExists.
    Result<void> prepare();
    /// Waits until one server is ready, and the others are too or have had enough time: a cluster with a broken server starts. Requires:
    /// prepare(). Error: Timeout with the name of a log.
    Task<> start();
    /// Names of its processes, in the order in which they end: etcd last.
    std::vector<std::string> processes() const;

private:
    /// Moves the data of an etcd with another number of members aside, if the objects were never moved into it.
    Result<void> put_unused_etcd_away();
    Task<> start_etcd();
    /// A member that has lost its data is started as a new one, once the others have let it in.
    Task<ChildCommand> next_command_of(EtcdMember member);
    /// Until one of them is healthy, which takes a majority.
    Task<> wait_for_one_of(std::vector<EtcdMember> members);
    /// Moves the objects of a cluster that had one server, or was restored, from the embedded store to etcd.
    Task<> move_objects();
    Task<> copy_objects();
    Task<> start_servers();
    Task<> wait_for_all();
    void run(const ApiServerProcess& server);

    Seams seams_;
    const DataDir& data_;
    Cluster& cluster_;
    ClusterApi& api_;
};

}  // namespace porthole::local_cluster
