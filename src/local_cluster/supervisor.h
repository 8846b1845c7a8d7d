#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "base/progress_report.h"
#include "local_cluster/control_plane/cluster_api.h"
#include "local_cluster/control_plane/local_control_plane.h"
#include "local_cluster/state/cluster.h"
#include "runtime/processes/process.h"
#include "runtime/scope.h"

namespace porthole::local_cluster {

class EmulatedHost;

/// Runs a cluster on this machine: starts its processes in order, restarts them when they die, and ends them in order.
///
/// It may itself die at any time: cluster.json names every process, and the next supervisor adopts those still running. Lives on `loop`;
/// references outlive it. Run serve() or shut_down() to its end before destroying it.
class Supervisor {
public:
    Supervisor(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, Cluster cluster, ProgressReport& report, Logger log);

    /// Starts everything. After a failure everything is ended again, and the error says what failed.
    Task<> start();
    /// Waits for stop(), then ends all processes and removes their leftovers.
    Task<> serve();
    void stop() { stop_.set(); }
    /// Changes the cluster to the nodes in wanted_nodes_file(): starts new ones, and ends and removes those no longer wanted, with their
    /// data and their Node objects. In the background.
    void resize();
    /// Ends the processes named in cluster.json, including those of an earlier supervisor, and removes their leftovers.
    Task<> shut_down();

private:
    Result<void> prepare();
    Result<void> read_wanted_nodes();
    Result<void> take_wanted_nodes();
    /// Removes hosts that are no longer wanted and starts the others. Error: a line for each host that did not start.
    Task<> converge();
    /// Tells the `up` that waits for it how the change has ended, and returns that.
    Result<void> end_change(Result<void> changed);
    Task<> apply_wanted_nodes();
    Task<> change_as_wanted();
    /// Has converge() start the nodes again whose certificate the cluster refuses, so that they get another. Such a node does nothing else
    /// any more: it cannot even ask for one.
    Task<> take_back_refused_nodes();
    Task<> remove_host(NodeHost node);
    /// Stops supervising its processes; they keep running.
    Task<> forget(std::string host);
    /// The scope of the tasks that supervise one host's processes.
    Scope& scope_of(const std::string& host);
    ChildCommand agent_command(const NodeHost& node) const;
    /// Restarts one process until the scope closes, after delays of 0.1 s to 10 s while it dies early or has no command.
    Task<> keep_running(std::string name, NextCommand next);
    Task<ProcessId> start_process(std::string name, NextCommand next);
    /// Joins a host to our own cluster.
    Task<> join_own(EmulatedHost& host, std::string node_name);
    Task<> bring_up(NodeHost node);
    Task<> bring_up_linux(NodeHost node);
    Task<> bring_up_windows(NodeHost node);
    /// Adds the route to the node's pods to the router, if there is one.
    Task<> route_to(NodeHost node);
    Task<> end_process(const std::string& name, Duration grace);
    /// From when on a node's reports are those of its program `process`, which runs already or is about to be started.
    SystemTime reports_since(const std::string& process) const;

    AsioLoop& loop_;
    ProcessRunner& processes_;
    const DataDir& data_;
    Cluster cluster_;
    ProgressReport& report_;
    Logger log_;
    ClusterApi api_;
    LocalControlPlane control_plane_;
    Scope children_;                                       ///< the control plane, and changes of the nodes
    std::map<std::string, std::unique_ptr<Scope>> hosts_;  ///< by host: for the tasks that supervise its processes
    std::set<std::string> up_;                             ///< the hosts that bring_up() was started for
    Semaphore changing_{1};                                ///< one change of the nodes at a time
    Event stop_;
};

/// Ends the cluster and removes its leftovers: by its supervisor, or in its place if that has died. Errors: Timeout if the supervisor does
/// not end within two minutes; those of Cluster::load() and Supervisor::shut_down().
Task<> end_cluster(AsioLoop& loop, ProcessRunner& processes, DataDir data, Cluster cluster);

}  // namespace porthole::local_cluster
