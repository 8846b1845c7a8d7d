#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "base/progress_report.h"
#include "local_cluster/cluster.h"
#include "local_cluster/cluster_api.h"
#include "local_cluster/local_control_plane.h"
#include "runtime/processes/process.h"
#include "runtime/scope.h"

namespace porthole::local_cluster {

class EmulatedHost;

/// Runs a cluster on this machine: starts its processes in order, starts again what dies, and ends them in order.
///
/// It may itself die at any time: cluster.json names every process, and the next supervisor adopts those still running. Lives on `loop`;
/// references outlive it. Run serve() or shut_down() to its end before destroying it.
class Supervisor {
public:
    Supervisor(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, Cluster cluster, ProgressReport& report, Logger log);

    /// Starts everything. On failure all is ended again and the error says what failed.
    Task<> start();
    /// Waits for stop(), then ends all processes and removes their leftovers.
    Task<> serve();
    void stop() { stop_.set(); }
    /// Makes the cluster one of the nodes that wanted_nodes_file() asks for: brings up those that are new, ends and removes those that are
    /// no longer asked for, with their data and their Node objects. In the background.
    void resize();
    /// Ends the processes named in cluster.json, also those that an earlier supervisor started, and removes their leftovers.
    Task<> shut_down();

private:
    Result<void> prepare();
    Result<void> read_wanted_nodes();
    void take_wanted_nodes();
    /// Removes the hosts that are not asked for and brings up the others.
    Task<> converge();
    Task<> apply_wanted_nodes();
    Task<> remove_host(NodeHost node);
    /// Keeps its processes running no longer; they go on.
    Task<> forget(std::string host);
    /// Of what keeps the processes of one host running.
    Scope& scope_of(const std::string& host);
    ChildCommand agent_command(const NodeHost& node) const;
    /// Keeps one process alive until the scope closes; backs off from 0.1 s to 10 s while it dies early.
    Task<> keep_running(std::string name, ChildCommand command);
    /// Joins a host to our own cluster.
    Task<> join_own(EmulatedHost& host, std::string node_name);
    Task<> bring_up(NodeHost node);
    Task<> bring_up_linux(NodeHost node);
    Task<> bring_up_windows(NodeHost node);
    /// Gives the router, where there is one, the route to the node's pods.
    Task<> route_to(NodeHost node);
    Task<> end_process(const std::string& name, Duration grace);

    AsioLoop& loop_;
    ProcessRunner& processes_;
    const DataDir& data_;
    Cluster cluster_;
    ProgressReport& report_;
    Logger log_;
    ClusterApi api_;
    LocalControlPlane control_plane_;
    Scope children_;                                       ///< the control plane, and changes of the nodes
    std::map<std::string, std::unique_ptr<Scope>> hosts_;  ///< by host: what keeps its processes running
    std::set<std::string> up_;                             ///< the hosts that bring_up() was started for
    Semaphore changing_{1};                                ///< one change of the nodes at a time
    Event stop_;
};

/// Ends the cluster and removes its leftovers: by its supervisor, or in the supervisor's place where that has died. Errors: Timeout when
/// the supervisor does not end within two minutes; those of Cluster::load() and Supervisor::shut_down().
Task<> end_cluster(AsioLoop& loop, ProcessRunner& processes, DataDir data, Cluster cluster);

}  // namespace porthole::local_cluster
