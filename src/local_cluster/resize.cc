#include "local_cluster/resize.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "api/core_v1.h"
#include "base/result.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/drain.h"
#include "local_cluster/hosts/node_identity.h"
#include "local_cluster/processes/progress_step.h"
#include "node_join/pki.h"
#include "objects/conditions.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;

constexpr Duration DrainLimit = 5min, ChangeLimit = 10min, Pause = 200ms;

std::set<std::string> names_of(const Cluster& cluster, const DataDir& data) {
    std::set<std::string> names;
    for (const NodeHost& node : cluster.nodes(data)) names.insert(node.name);
    return names;
}

std::set<std::string> without(const std::set<std::string>& all, const std::set<std::string>& taken) {
    std::set<std::string> rest;
    std::ranges::set_difference(all, taken, std::inserter(rest, rest.end()));
    return rest;
}

std::set<std::string> within(const std::set<std::string>& some, const std::set<std::string>& others) {
    std::set<std::string> both;
    std::ranges::set_intersection(some, others, std::inserter(both, both.end()));
    return both;
}

/// Those of `names` that are Ready by what they have reported since then.
Task<std::set<std::string>> ready_of(client::Client& client, std::set<std::string> names, Timestamp since) {
    CO_TRY(const auto nodes, co_await client.list<api::core::v1::Node>());
    std::set<std::string> ready;
    for (const auto& node : nodes.items) {
        const auto* condition = objects::find_condition(node.status.conditions, "Ready");
        if (condition && condition->status == "True" && condition->last_heartbeat_time >= since) ready.insert(node.metadata.name);
    }
    co_return within(ready, names);
}

std::string ready_step(const std::string& node) { return "node " + node + " Ready"; }

/// What the supervisor has written about `node`; "" if nothing.
std::string failure_of(const std::string& node, const std::string& failures) {
    const std::string begin = "node " + node + ": ";
    std::istringstream lines(failures);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(begin)) return line.substr(begin.size());
    return "";
}

/// The error of a change that the supervisor could not make, after the report of each node of `missing`.
Error failed_change(const DataDir& data, const std::set<std::string>& missing, const std::string& failures, ProgressReport& report) {
    bool all_told = !missing.empty();
    for (const std::string& node : missing) {
        const std::string why = failure_of(node, failures);
        report.failed(ready_step(node), why.empty() ? "not started" : why);
        all_told = all_told && !why.empty();
    }
    return Error(Reason::Unavailable,
                 (all_told ? "not every node has started" : "the nodes could not be changed: " + std::string(trim(failures))) +
                     "; `porthole up` tries it again, and with fewer --nodes gives up the others; see " +
                     (data.logs() / "supervisor.log").string());
}

/// Until the supervisor has done what was asked of it. Each of `added` is reported when it is Ready, if that is news.
Task<> wait_for_change(AsioLoop& loop, const DataDir& data, client::Client& client, std::set<std::string> added, ProgressReport& report) {
    const MonotonicTime deadline = loop.now() + ChangeLimit;
    const Timestamp begun(loop.wall_now());
    for (const std::string& name : added) report.begin(ready_step(name));
    for (bool changing = true; changing;) {
        changing = path_exists(data.wanted_nodes_file()) || path_exists(data.taken_nodes_file());
        const auto ready = co_await ready_of(client, added, changing ? begun : Timestamp());  // in the end the supervisor has seen the news
        if (is_cancelled(ready)) co_return ready.error();
        for (const std::string& name : ready ? *ready : std::set<std::string>()) {
            report.done(ready_step(name));
            added.erase(name);
        }
        const auto cluster = Cluster::load(data);
        if (!cluster || cluster->supervisor.pid == 0) co_return failed_change(data, added, "the cluster has been ended", report);
        if (loop.now() >= deadline) {
            for (const std::string& name : added) report.failed(ready_step(name), "not in time");
            co_return Error(Reason::Timeout, "the nodes did not change in time; see " + (data.logs() / "supervisor.log").string());
        }
        if (changing) CO_TRY_VOID(co_await loop.sleep(Pause));
    }
    if (const auto failures = read_file(data.failed_nodes_file())) co_return failed_change(data, added, *failures, report);
    if (added.empty()) co_return {};
    // They started well, but something has happened since.
    for (const std::string& name : added)
        report.failed(ready_step(name), "it runs, but is not Ready; kubectl describe node " + name + " shows why");
    co_return Error(Reason::Unavailable, "not every node is Ready");
}

/// Has the supervisor change the nodes to those of `cluster`, of which `added` are not Ready yet.
Task<> request_change(AsioLoop& loop, const DataDir& data, client::Client& client, Cluster cluster, std::set<std::string> added,
                      ProgressReport& report) {
    std::error_code ignored;
    std::filesystem::remove(data.failed_nodes_file(), ignored);
    CO_TRY_VOID(write_durably(data.wanted_nodes_file(), nodes_text(cluster.options)));
    send_signal(cluster.supervisor, SIGHUP);
    co_return co_await wait_for_change(loop, data, client, std::move(added), report);
}

}  // namespace

Task<> resize_cluster(AsioLoop& loop, DataDir data, Cluster cluster, ClusterOptions wanted, ProgressReport& report) {
    if (cluster.host_numbers.empty())
        co_return Error(Reason::AlreadyExists, "an older version has started this cluster: end it first with `porthole down" + data.flag() +
                                                   "`, and start it again");
    const std::set<std::string> before = names_of(cluster, data);
    cluster.options = std::move(wanted);
    const std::set<std::string> after = names_of(cluster, data), surplus = without(before, after);
    CO_TRY(const auto admin, connect_as_admin(loop, data.admin_kubeconfig().string(), data.root().string()));
    if (!surplus.empty()) {
        const std::string names = join(std::vector(surplus.begin(), surplus.end()), ", ");
        const auto drained = co_await step(report, (surplus.size() == 1 ? "node " : "nodes ") + names + " drained",
                                           drain(loop, admin->client, surplus, DrainLimit));
        if (!drained) co_return Error(drained.error().reason, "the cluster keeps its nodes: " + names + " cannot be drained");
    }
    co_return co_await request_change(loop, data, admin->client, std::move(cluster), without(after, before), report);
}

Task<> retry_nodes(AsioLoop& loop, DataDir data, Cluster cluster, ProgressReport& report) {
    CO_TRY(const auto admin, connect_as_admin(loop, data.admin_kubeconfig().string(), data.root().string()));
    CO_TRY(const node_join::Pki pki, node_join::Pki::load(data.pki()));
    const std::set<std::string> all = names_of(cluster, data);
    const auto ready = co_await ready_of(admin->client, all, Timestamp());
    if (is_cancelled(ready)) co_return ready.error();
    std::set<std::string> missing = ready ? without(all, *ready) : std::set<std::string>();
    for (std::string& name : refused_nodes(data, cluster, pki.ca_pem, loop.wall_now())) missing.insert(std::move(name));
    if (missing.empty()) {
        send_signal(cluster.supervisor, SIGHUP);  // for what cannot be seen here: while no server answers, or a node was late
        co_return {};
    }
    co_return co_await request_change(loop, data, admin->client, std::move(cluster), std::move(missing), report);
}

}  // namespace porthole::local_cluster
