#include "controllers/node_lifecycle/node_lifecycle.h"

#include <algorithm>
#include <set>

#include "base/result.h"
#include "controllers/framework/batches.h"
#include "controllers/node_lifecycle/version_skew.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using schema::Value;

namespace {

/// Labels that old clients look at, and where they come from.
struct LabelCopy {
    const char *from, *to;
};
constexpr LabelCopy LabelCopies[] = {{"kubernetes.io/os", "beta.kubernetes.io/os"}, {"kubernetes.io/arch", "beta.kubernetes.io/arch"}};

constexpr const char* LeaseNamespace = "kube-node-lease";
/// A node that does not count when zones are judged.
constexpr const char* ExcludeLabel = "node.kubernetes.io/exclude-disruption";

std::string_view wanted_no_execute(std::string_view ready) {
    if (ready == "False") return NotReadyTaint;
    return ready == "Unknown" ? UnreachableTaint : std::string_view();
}

/// A merge patch that fails when the object is no longer as it was read.
std::string guarded_patch(const api::meta::v1::ObjectMeta& read, Value change) {
    change.ensure_path({"metadata", "resourceVersion"}) = read.resource_version;
    return schema::to_json(change);
}

}  // namespace

NodeLifecycleController::NodeLifecycleController(Context& context)
    : Controller(context.loop, context.log, {.name = "node-lifecycle", .workers = 8}),
      settings_(context.settings),
      client_(context.client),
      events_(context.events.get("node-controller")),
      nodes_(context.informers.get<Node>()),
      pods_(depends_on(context.informers.get<Pod>())),
      leases_(depends_on(context.informers.get<api::coordination::v1::Lease>({.namespace_ = LeaseNamespace}))),
      pods_by_node_(context.pods_by_node()) {
    const auto tell = [this](const Node& node, const char* reason, const char* before, const char* after) {
        events_.normal(node, reason, "Node " + node.metadata.name + " event: " + before + node.metadata.name + after);
    };
    const auto tell_of_skew = [this](const Node& node) {
        std::string skew = version_skew(node.status.node_info.kubelet_version, settings_.own_version);
        if (!skew.empty()) events_.warning(node, "VersionSkewUnsupported", std::move(skew));
    };
    nodes_.subscribe({.added =
                          [=](const auto& node) {
                              tell(*node, "RegisteredNode", "Registered Node ", " in Controller");
                              tell_of_skew(*node);
                          },
                      .updated =
                          [=](const auto& before, const auto& node) {
                              const auto version = [](const Node& of) { return of.status.node_info.kubelet_version; };
                              if (version(*before) != version(*node)) tell_of_skew(*node);
                          },
                      .deleted = [tell](const auto& node) { tell(*node, "RemovingNode", "Removing Node ", " from Controller"); }});
    reconcile_each(nodes_);
}

Task<client::Requeue> NodeLifecycleController::reconcile(client::NamespacedName key) {
    const auto node = nodes_.find(key);
    if (!node) co_return client::Requeue::never();
    Taints taints = no_schedule_taints(*node, loop().wall_now());
    // What is written comes back as a change: the labels' turn is then.
    if (taints != node->spec.taints) {
        CO_TRY_VOID(co_await write_taints(*node, std::move(taints)));
    } else {
        CO_TRY_VOID(co_await write_labels(*node));
    }
    co_return client::Requeue::never();
}

Task<> NodeLifecycleController::write_taints(const Node& node, Taints taints) {
    Value list = Value::array();
    for (const auto& taint : taints) list.as_array().push_back(schema::to_value(taint));
    Value change = Value::object();
    change.ensure_path({"spec", "taints"}) = std::move(list);
    CO_TRY_VOID(
        co_await client_.patch<Node>(client::key_of(node), client::PatchType::Merge, guarded_patch(node.metadata, std::move(change))));
    co_return {};
}

Task<> NodeLifecycleController::write_labels(const Node& node) {
    Value change = Value::object();
    for (const LabelCopy& copy : LabelCopies) {
        const auto& labels = node.metadata.labels;
        const auto from = labels.find(copy.from), to = labels.find(copy.to);
        if (from == labels.end() || (to != labels.end() && to->second == from->second)) continue;
        change.ensure_path({"metadata", "labels", copy.to}) = from->second;
    }
    if (change.as_object().empty()) co_return {};
    CO_TRY_VOID(
        co_await client_.patch<Node>(client::key_of(node), client::PatchType::Merge, guarded_patch(node.metadata, std::move(change))));
    co_return {};
}

Task<> NodeLifecycleController::background() {
    for (;;) {
        const MonotonicTime next_look = loop().now() + settings_.node_monitor_period;
        CO_TRY_VOID(co_await inspect_all());
        do {
            CO_TRY_VOID(co_await evict_due());
            CO_TRY_VOID(co_await loop().sleep(next_eviction(next_look - loop().now())));
        } while (loop().now() < next_look);
    }
}

Task<> NodeLifecycleController::inspect_all() {
    const auto nodes = nodes_.list();
    std::set<std::string> names;
    for (const auto& node : nodes) names.insert(node->metadata.name);
    heartbeats_.keep_only(names);
    std::erase_if(watched_, [&](const auto& entry) { return !names.contains(entry.first); });
    for (const auto& node : nodes) {
        const auto done = co_await inspect(*node);
        if (is_cancelled(done)) co_return done;
        if (!done) log().warn("node cannot be monitored", {{"node", node->metadata.name}, {"error", done.error().message}});
    }
    assess_zones();
    for (const auto& node : nodes) {
        const auto current = nodes_.find(client::key_of(*node));
        if (!current) continue;
        const auto done = co_await plan_eviction(*current);
        if (is_cancelled(done)) co_return done;
        if (!done) log().info("node not tainted, will retry", {{"node", node->metadata.name}, {"error", done.error().message}});
    }
    co_return {};
}

Task<> NodeLifecycleController::inspect(const Node& node) {
    const std::string& name = node.metadata.name;
    heartbeats_.observe(node, leases_.find({LeaseNamespace, name}).get(), loop().now());
    std::string ready(ready_status(node));
    const Duration grace = ready.empty() ? settings_.node_startup_grace : settings_.node_monitor_grace;
    if (heartbeats_.silence(name, loop().now()) > grace) {
        CO_TRY(const Node silent, co_await declare_silent(node));
        ready = ready_status(silent);
    }
    Watched& watched = watched_[name];
    // A kubelet that reports its node as not ready still reports its pods, which may well be ready.
    const bool fell_silent = ready == "Unknown" && watched.ready != "Unknown";
    if (fell_silent && watched.ready == "True") events_.normal(node, "NodeNotReady", "Node " + name + " status is now: NodeNotReady");
    // Also for a node that is new here: an earlier controller may have ended after it updated the node, before its pods.
    if (fell_silent) watched.has_pods_to_mark = true;
    if (ready != "Unknown") watched.has_pods_to_mark = false;
    watched.ready = ready;
    watched.zone = zone_of(node);
    if (!watched.has_pods_to_mark) co_return {};
    CO_TRY_VOID(co_await mark_pods_not_ready(name));
    watched_[name].has_pods_to_mark = false;
    co_return {};
}

Task<api::core::v1::Node> NodeLifecycleController::declare_silent(const Node& node) {
    Node silent = node;
    if (!mark_silent(silent, loop().wall_now())) co_return silent;
    log().warn("node stopped sending heartbeats", {{"node", node.metadata.name}});
    co_return co_await client_.update_status(std::move(silent));
}

/// Services must not send to them any longer: several at a time, as each write waits for the store's disk.
Task<> NodeLifecycleController::mark_pods_not_ready(std::string node) {
    std::vector<Task<>> marks;
    for (const auto& pod : pods_by_node_.find(node))
        if (objects::is_ready(*pod)) marks.push_back(mark_not_ready(pod));
    co_return co_await perform_all(std::move(marks));
}

Task<> NodeLifecycleController::mark_not_ready(std::shared_ptr<const Pod> pod) {
    Pod changed = *pod;
    auto ready = *objects::find_condition(pod->status.conditions, "Ready");
    ready.status = "False";
    objects::set_condition(changed.status.conditions, std::move(ready), Timestamp(loop().wall_now()));
    events_.warning(*pod, "NodeNotReady", "Node is not ready");
    CO_TRY_VOID(ignore_not_found(co_await client_.update_status(std::move(changed))));
    co_return {};
}

void NodeLifecycleController::assess_zones() {
    std::map<std::string, ZoneCount> counts;
    std::set<std::string> zones;
    for (const auto& [name, watched] : watched_) {
        zones.insert(watched.zone);
        const auto node = nodes_.find({"", name});
        if (node && node->metadata.labels.contains(ExcludeLabel)) continue;
        ++(watched.ready == "True" ? counts[watched.zone].ready : counts[watched.zone].not_ready);
    }
    // A node chooses its zone, and may do so again and again.
    std::erase_if(queues_, [&](const auto& entry) { return !zones.contains(entry.first); });
    bool all_disrupted = !counts.empty();
    for (const auto& [zone, count] : counts) {
        const ZoneState state = zone_state(count, settings_.unhealthy_zone_threshold);
        if (state != ZoneState::FullDisruption) all_disrupted = false;
        const double partial_rate = count.nodes() > settings_.large_zone ? settings_.secondary_node_eviction_rate : 0;
        queues_[zone].set_rate(state == ZoneState::PartialDisruption ? partial_rate : settings_.node_eviction_rate, loop().now());
    }
    if (all_disrupted == all_disrupted_) return;
    all_disrupted_ = all_disrupted;
    log().warn(all_disrupted ? "no node is ready: evictions paused" : "nodes are ready again: evictions resumed", {});
    for (auto& [zone, queue] : queues_) queue.clear();
    // Who could not be heard while all were silent has its time anew.
    if (!all_disrupted) heartbeats_.forgive(loop().now());
}

Task<> NodeLifecycleController::plan_eviction(const Node& node) {
    const auto watched = watched_.find(node.metadata.name);
    if (watched == watched_.end()) co_return {};
    EvictionQueue& queue = queues_[watched->second.zone];
    const std::string_view wanted = all_disrupted_ ? std::string_view() : wanted_no_execute(watched->second.ready);
    const bool tainted = has_taint(node, NotReadyTaint, NoExecute) || has_taint(node, UnreachableTaint, NoExecute);
    if (!wanted.empty() && !tainted) {
        queue.add(node.metadata.name);
        co_return {};
    }
    // Taking the taint away, and swapping one for the other, evicts nobody more: no need to wait.
    queue.remove(node.metadata.name);
    Taints taints = no_execute_taints(node, wanted, loop().wall_now());
    if (taints != node.spec.taints) CO_TRY_VOID(co_await write_taints(node, std::move(taints)));
    co_return {};
}

Task<> NodeLifecycleController::evict_due() {
    for (auto& [zone, queue] : queues_) {
        while (const auto name = queue.take(loop().now())) {
            const auto node = nodes_.find({"", *name});
            if (!node) continue;
            const std::string_view wanted = wanted_no_execute(ready_status(*node));
            if (wanted.empty()) {
                // Ready again, or the cache does not have our own write yet: the next look tells.
                queue.put_back(*name, loop().now());
                continue;
            }
            const auto done = co_await write_taints(*node, no_execute_taints(*node, wanted, loop().wall_now()));
            if (done || is_not_found(done)) continue;
            if (is_cancelled(done)) co_return done;
            log().info("node not tainted yet, will retry", {{"node", *name}, {"error", done.error().message}});
            queue.put_back(*name, loop().now());
        }
    }
    co_return {};
}

Duration NodeLifecycleController::next_eviction(Duration most) const {
    for (const auto& [zone, queue] : queues_) {
        if (const auto wait = queue.wait(loop().now())) most = std::min(most, *wait);
    }
    return std::max(most, Duration::zero());
}

Result<ControllerPtr> make_node_lifecycle(Context& context) { return make_controller<NodeLifecycleController>(context); }

}  // namespace porthole::controllers
