#include "local_cluster/start.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "local_cluster/hosts/host_files.h"
#include "local_cluster/processes/child_process.h"
#include "local_cluster/processes/progress_pipe.h"
#include "local_cluster/state/store_mark.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_lock.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

ChildCommand supervise_command(const DataDir& data) {
    return {.arguments = {own_program().string(), "supervise", "--data", data.root().string()}, .log_file = data.logs() / "supervisor.log"};
}

Result<ProcessId> start_supervisor(const DataDir& data, bool foreign, ProgressReport& progress) {
    int pipe[2];
    CHECK(::pipe2(pipe, O_CLOEXEC) == 0);
    ChildCommand command = supervise_command(data);
    command.arguments.push_back("--report");
    command.inherited_fd = pipe[1];
    auto child = start_child(command);
    ::close(pipe[1]);
    if (!child) {
        ::close(pipe[0]);
        return child;
    }
    if (!follow_progress(pipe[0], progress)) {
        return Error(Reason::Unavailable, std::string(foreign ? "the hosts did not start; their" : "the cluster did not start; its") +
                                              " logs are in " + data.logs().string());
    }
    return child;
}

/// What an earlier supervisor has left is adopted as it is.
bool has_processes(const Cluster& cluster) {
    return std::ranges::any_of(cluster.processes, [](const auto& process) { return is_running(process.second); });
}

Result<bool> has_claims(const DataDir& data, const NodeHost& host) {
    if (host.is_windows()) return HostFiles(data.node(host.name)).has_claims();
    std::error_code ignored;
    const fs::path volumes = data.node(host.name) / "kubelet/local-volumes";
    return fs::exists(volumes, ignored) && !fs::is_empty(volumes, ignored);
}

/// The supervisor removes the hosts that are not asked for any more. Nobody can say what the data of claims on them are worth.
Result<void> check_surplus(const DataDir& data, const Cluster& cluster) {
    for (const NodeHost& host : cluster.surplus_hosts(data)) {
        const auto found = has_claims(data, host);
        if (!found)
            return Error(Reason::Conflict, "whether data of claims are on " + host.name + ", which would be removed, is not known (" +
                                               found.error().message + "): start the cluster with it, and correct that");
        if (*found)
            return Error(Reason::Conflict,
                         "the data of claims are on " + host.name +
                             ", which would be removed: start the cluster with it, delete the claims and take it away then");
    }
    return {};
}

/// The pod network of an emulated host is created when it joins, and its Host Networking Service keeps it.
Result<void> check_backend(const DataDir& data, const Cluster& cluster, const std::string& before) {
    const ClusterOptions& options = cluster.options;
    if (options.backend == before) return {};
    for (const NodeHost& host : cluster.nodes(data)) {
        if (!host.is_windows() || HostFiles(data.node(host.name)).joined_server().empty()) continue;
        const std::string remedy =
            options.foreign ? "remove it first with `porthole winnode leave" + data.flag() + "`"
                            : "start the cluster without its Windows nodes (--nodes linux=" + std::to_string(options.linux_nodes) +
                                  "), and add them afterwards";
        return Error(Reason::AlreadyExists, "--backend " + (options.backend.empty() ? "of the cluster" : options.backend) + ": " +
                                                host.name + " has joined with another pod network (" +
                                                (before.empty() ? "the cluster's" : before) +
                                                "), which cannot be changed: leave the option as it was, or " + remedy);
    }
    return {};
}

}  // namespace

Result<Cluster> planned_cluster(const DataDir& data, const ClusterOptions& options, bool& running) {
    if (options.port == 0) return Error(Reason::BadRequest, "--port 0: the API server needs a port from 1 to 65535");
    auto known = Cluster::load(data);
    running = known && is_running(known->supervisor);
    if (!known) return Cluster{.options = options};
    // What is encrypted could not be read without it.
    ClusterOptions wanted = options;
    wanted.hardened = wanted.hardened || known->options.hardened;
    // Before what `porthole down` would allow: that would not help with these.
    if (path_exists(data.store()) || path_exists(data.store_location()))
        TRY_VOID(check_restart(known->options, wanted,
                               "leave the option out, or delete the cluster first with `porthole down --purge" + data.flag() + "`"));
    const bool other_servers = known->options.servers != wanted.servers;
    // Until they are in etcd, a start with several servers that has failed can be one with another number, also with one.
    if (other_servers && known->options.servers != 1 && path_exists(data.store_location()))
        return Error(Reason::AlreadyExists, "the cluster in " + data.root().string() + " has " + std::to_string(known->options.servers) +
                                                " servers, and only one server can become several: write --servers " +
                                                std::to_string(known->options.servers) +
                                                ", or move it by `porthole backup` and `porthole restore`");
    if ((running || (!known->options.foreign && has_processes(*known))) && !(known->options == wanted))
        TRY_VOID(check_resize(known->options, wanted,
                              known->options.foreign ? "end them first with `porthole winnode leave" + data.flag() + "`"
                                                     : "end it first with `porthole down" + data.flag() + "`"));
    if (running) return known;
    TRY_VOID(check_expected_store(data, "delete what is left with `porthole down --purge" + data.flag() + "`"));
    if (other_servers) known->etcd = {};
    known->number_hosts(data);  // as they are
    if (!known->host_numbers.empty() && known->options.host_prefix != wanted.host_prefix)
        return Error(Reason::AlreadyExists, "the hosts in " + data.root().string() + " are called " + known->options.host_prefix +
                                                "...: keep --prefix, or remove them first with `porthole down --purge" + data.flag() + "`");
    const std::string backend = known->options.backend;
    known->options = std::move(wanted);
    TRY_VOID(check_surplus(data, *known));
    TRY_VOID(check_backend(data, *known, backend));
    return known;
}

Result<void> start_cluster(const DataDir& data, Cluster& cluster, ProgressReport& progress) {
    std::error_code error;
    fs::create_directories(data.logs(), error);
    if (error) return Error(Reason::Io, "cannot make " + data.logs().string() + ": " + error.message());
    TRY_VOID(cluster.save(data));
    // What was asked of an earlier supervisor is over: this is what is wanted now.
    for (const fs::path& file : {data.wanted_nodes_file(), data.taken_nodes_file(), data.failed_nodes_file()}) fs::remove(file, error);
    const auto supervisor = start_supervisor(data, cluster.options.foreign.has_value(), progress);
    if (supervisor) {
        cluster.supervisor = *supervisor;
        return {};
    }
    // A server that had lost its supervisor may have started one in the same moment: then ours leaves the cluster to that.
    auto others = Cluster::load(data);
    for (int round = 0; round < 20 && others && !is_running(others->supervisor); ++round) {
        const auto free = FileLock::try_take(data.supervisor_lock().string());
        if (!free || *free) break;
        std::this_thread::sleep_for(100ms);  // it writes its name down a moment after it has begun
        others = Cluster::load(data);
    }
    if (!others || !is_running(others->supervisor)) return supervisor.error();
    cluster = *std::move(others);
    return {};
}

Task<> revive_supervisors(AsioLoop& loop, DataDir data, Logger log) {
    for (;;) {
        CO_TRY(const Cluster cluster, Cluster::load(data));
        if (is_running(cluster.supervisor)) {
            CO_TRY_VOID(co_await wait_for_exit(loop, cluster.supervisor));
            continue;
        }
        log.warn("the supervisor has died; starting a new one", {{"pid", cluster.supervisor.pid}});
        CO_TRY_VOID(start_child(supervise_command(data)));
        CO_TRY_VOID(co_await loop.sleep(2s));  // it writes its name down first
    }
}

}  // namespace porthole::local_cluster
