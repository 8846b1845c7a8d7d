#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/progress_report.h"
#include "local_cluster/cluster_api.h"
#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// The API servers of a cluster on this machine, and their etcd where there are several: what they need, and in which order they start.
///
/// References outlive it and its tasks.
class LocalControlPlane {
public:
    struct Seams {
        AsioLoop& loop;
        ProcessRunner& processes;
        ProgressReport& report;
        Logger log;
        std::function<void(std::string name, ChildCommand command)> keep_running;  ///< the supervisor's
    };
    LocalControlPlane(Seams seams, const DataDir& data, Cluster& cluster, ClusterApi& api);

    /// Makes the files that must be there before anything starts, and chooses addresses. Errors: Io, AlreadyExists.
    Result<void> prepare();
    /// Until a server is ready, and the others are, too, or have had their time: a cluster with a broken server starts. Requires:
    /// prepare(). Error: Timeout, which names a log.
    Task<> start();
    /// Names of its processes, in the order in which they end: etcd last.
    std::vector<std::string> processes() const;

private:
    /// Puts away what an etcd of another number of members has left in which the objects never arrived.
    Result<void> put_unused_etcd_away();
    Task<> start_etcd();
    Task<> wait_for_etcd();
    /// Objects of a cluster that had one server, or was restored, go from the embedded store to etcd.
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
