#include "local_cluster/resize.h"

#include <signal.h>

#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "base/result.h"
#include "base/strings.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/drain.h"
#include "local_cluster/processes/progress_step.h"
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

Task<bool> is_ready(client::Client& client, std::string node) {
    const auto found = co_await client.get<api::core::v1::Node>({"", node});
    if (is_cancelled(found)) co_return found.error();
    co_return found&& objects::is_condition_true(found->status.conditions, "Ready");
}

/// Until the supervisor has taken up what was asked of it, and each of `added` is Ready.
Task<> wait_for_change(AsioLoop& loop, const DataDir& data, client::Client& client, std::set<std::string> added, ProgressReport& report) {
    const MonotonicTime deadline = loop.now() + ChangeLimit;
    for (const std::string& name : added) report.begin("node " + name + " Ready");
    while (path_exists(data.wanted_nodes_file()) || path_exists(data.taken_nodes_file()) || !added.empty()) {
        for (auto name = added.begin(); name != added.end();) {
            CO_TRY(const bool ready, co_await is_ready(client, *name));
            if (ready) report.done("node " + *name + " Ready");
            name = ready ? added.erase(name) : std::next(name);
        }
        if (loop.now() >= deadline) {
            for (const std::string& name : added) report.failed("node " + name + " Ready", "not in time");
            co_return Error(Reason::Timeout, "the nodes did not change in time; see " + (data.logs() / "supervisor.log").string());
        }
        CO_TRY_VOID(co_await loop.sleep(Pause));
    }
    co_return {};
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
    CO_TRY_VOID(write_durably(data.wanted_nodes_file(), nodes_text(cluster.options)));
    send_signal(cluster.supervisor, SIGHUP);
    co_return co_await wait_for_change(loop, data, admin->client, without(after, before), report);
}

}  // namespace porthole::local_cluster
