#pragma once
#include "local_cluster/processes/child_process.h"
#include "local_cluster/state/cluster.h"
#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// An emulated Windows host of this machine's cluster: `porthole winhost` in the host's network namespace. The host is changed as its
/// administrator would: by programs run on it. Does not own the process: the supervisor runs command(). References outlive it and its
/// tasks.
class EmulatedHost {
public:
    EmulatedHost(AsioLoop& loop, ProcessRunner& processes, const DataDir& data, NodeHost node)
        : loop_(loop), processes_(processes), data_(data), node_(std::move(node)) {}

    /// Checks the prerequisites of a start. Error: NotFound with the packages to install.
    static Result<void> preflight();

    ChildCommand command() const;
    /// Waits until programs can be run on the host, as long as its log grows and at most 40 minutes: the first start on a machine creates
    /// a Windows root file system. Error: Timeout with the log, also once the host has ended for the same reason at several starts.
    Task<> ensure_ready();
    /// Since when its programs run: the host goes on where `winhost run` is killed and started again. Requires: ensure_ready().
    SystemTime running_since() const;
    /// Whether it has joined by one of these servers, as URLs. Else join() makes it do so, also once more.
    bool has_joined(const std::vector<std::string>& servers) const;
    /// Joins a cluster by kubeadm.exe; `backend` is that of the pod network, "" for the cluster's own. Error: the join's message.
    Task<> join(ForeignCluster target, std::string backend);
    /// Imports a docker or OCI archive. Returns the names of its images; empty if it has none for Windows.
    Task<std::vector<std::string>> import(std::filesystem::path archive);
    /// Runs a program of the host, such as porthole.exe, on it. Errors: as ProcessRunner.
    Task<CommandOutput> run(std::vector<std::string> words) { return processes_.run(winhost("exec", std::move(words))); }
    /// Removes leftovers of a host that was not shut down in order. Safe at any time after its process has ended.
    Task<> clean_up();

    std::filesystem::path log_file() const { return data_.logs() / (node_.name + "-winhost.log"); }

private:
    std::filesystem::path folder() const { return data_.node(node_.name); }
    /// `porthole winhost <verb> --data <folder> <more>`
    Command winhost(const std::string& verb, std::vector<std::string> more = {}) const;

    AsioLoop& loop_;
    ProcessRunner& processes_;
    const DataDir& data_;
    NodeHost node_;
};

}  // namespace porthole::local_cluster
