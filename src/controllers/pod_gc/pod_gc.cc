#include "controllers/pod_gc/pod_gc.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/framework/batches.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "schema/convert.h"

namespace porthole::controllers {

using namespace std::chrono_literals;
using api::core::v1::Node;
using api::core::v1::Taint;

namespace {

constexpr auto Period = 20s;
/// A node may be missing from the cache for a moment while it registers anew.
constexpr auto Quarantine = 40s;

bool is_out_of_service(const Node& node) {
    return !objects::is_ready(node) &&
           std::ranges::any_of(node.spec.taints, [](const Taint& taint) { return taint.key == "node.kubernetes.io/out-of-service"; });
}

/// A patch that ends the pod; its role lets the controller patch statuses only.
std::string failure(const api::core::v1::Pod& pod, const std::string& message, Timestamp now) {
    schema::Value patch;
    patch.ensure_path({"metadata", "resourceVersion"}) = pod.metadata.resource_version;
    patch.ensure_path({"status", "phase"}) = "Failed";
    if (!message.empty()) {
        auto conditions = pod.status.conditions;
        objects::set_condition(conditions, {.type = "DisruptionTarget", .status = "True", .reason = "DeletionByPodGC", .message = message},
                               now);
        patch["status"]["conditions"] = schema::Value::array({schema::to_value(*objects::find_condition(conditions, "DisruptionTarget"))});
    }
    return schema::to_json(patch);
}

/// Evicted pods are before the others, and older ones before newer ones.
std::string rank_of(const api::core::v1::Pod& pod) {
    return (pod.status.reason == "Evicted" ? "0 " : "1 ") + pod.metadata.creation_timestamp.to_string();
}

}  // namespace

PodGcController::PodGcController(Context& context)
    : Controller(context.loop, context.log, {.name = "pod-garbage-collector"}),
      client_(context.client),
      kept_(context.settings.terminated_pods_kept),
      pods_(depends_on(context.informers.get<api::core::v1::Pod>())),
      nodes_(depends_on(context.informers.get<Node>())),
      by_node_(context.pods_by_node()),
      terminating_by_node_(pods_.add_index([](const api::core::v1::Pod& pod) {
          return objects::is_terminating(pod) ? std::vector{pod.spec.node_name} : std::vector<std::string>();
      })),
      terminated_by_rank_(pods_.add_index([](const api::core::v1::Pod& pod) {
          return objects::is_terminal(pod) ? std::vector{rank_of(pod)} : std::vector<std::string>();
      })) {}

Task<> PodGcController::background() {
    for (;;) {
        const auto swept = co_await sweep();
        if (is_cancelled(swept)) co_return swept;
        if (!swept) log().warn("sweep failed", {{"error", swept.error().message}});
        CO_TRY_VOID(co_await loop().sleep(Period));
    }
}

Task<> PodGcController::sweep() {
    // A pod that cannot be removed does not keep the others.
    Result<void> outcome = co_await remove_surplus_terminated();
    if (is_cancelled(outcome)) co_return outcome;
    if (Result<void> removed = co_await remove_orphans(); !removed) outcome = std::move(removed);
    if (is_cancelled(outcome)) co_return outcome;
    if (Result<void> removed = co_await remove_stuck(); !removed) outcome = std::move(removed);
    co_return outcome;
}

Task<> PodGcController::remove_surplus_terminated() {
    const auto ranks = terminated_by_rank_.counts();
    std::size_t surplus = 0;
    for (const auto& [rank, count] : ranks) surplus += count;
    if (kept_ == 0 || surplus <= kept_) co_return {};
    surplus -= kept_;
    std::vector<Pod> pods;
    for (auto rank = ranks.begin(); rank != ranks.end() && pods.size() < surplus; ++rank)
        std::ranges::move(terminated_by_rank_.find(rank->first), std::back_inserter(pods));
    pods.resize(std::min(pods.size(), surplus));
    co_return co_await force_remove_all(std::move(pods), "");
}

Task<std::set<std::string>> PodGcController::lost_nodes() {
    std::set<std::string> missing;
    for (const auto& [node, count] : by_node_.counts()) {
        if (!node.empty() && !nodes_.find({"", node})) missing.insert(node);
    }
    std::erase_if(missing_since_, [&](const auto& entry) { return !missing.contains(entry.first); });
    std::set<std::string> lost;
    for (const std::string& name : missing) {
        const auto [entry, is_new] = missing_since_.try_emplace(name, loop().now());
        if (is_new || loop().now() - entry->second < Quarantine) continue;
        const auto live = co_await client_.get<Node>({"", name});
        if (is_not_found(live)) lost.insert(name);
    }
    co_return lost;
}

Task<> PodGcController::remove_orphans() {
    CO_TRY(const auto lost, co_await lost_nodes());
    std::vector<Pod> orphans;
    for (const std::string& node : lost) std::ranges::move(by_node_.find(node), std::back_inserter(orphans));
    co_return co_await force_remove_all(std::move(orphans), "PodGC: node no longer exists");
}

Task<> PodGcController::remove_stuck() {
    std::vector<Pod> stuck;
    for (const auto& [name, count] : terminating_by_node_.counts()) {
        const auto node = name.empty() ? nullptr : nodes_.find({"", name});
        if (name.empty() || (node && is_out_of_service(*node)))
            std::ranges::move(terminating_by_node_.find(name), std::back_inserter(stuck));
    }
    co_return co_await force_remove_all(std::move(stuck), "");
}

Task<> PodGcController::force_remove_all(std::vector<Pod> pods, std::string message) {
    std::vector<Task<>> removals;
    for (Pod& pod : pods) removals.push_back(force_remove(std::move(pod), message));
    co_return co_await perform_all(std::move(removals));
}

Task<> PodGcController::force_remove(Pod pod, std::string message) {
    if (!objects::is_terminal(*pod)) {
        std::string patch = failure(*pod, message, Timestamp(loop().wall_now()));
        const auto updated =
            co_await client_.patch<api::core::v1::Pod>(client::key_of(*pod), client::PatchType::StrategicMerge, std::move(patch), "status");
        // Somebody else's change: the next sweep looks again.
        if (!updated && (is_not_found(updated) || updated.error().reason == Reason::Conflict)) co_return {};
        if (!updated) co_return updated.error();
    }
    log().info("removing pod", {{"pod", client::key_of(*pod).text()}, {"node", pod->spec.node_name}});
    auto removed = co_await client_.remove<api::core::v1::Pod>(client::key_of(*pod), {.uid = pod->metadata.uid, .grace_period_seconds = 0});
    if (!removed && !is_not_found(removed) && removed.error().reason != Reason::Conflict) co_return removed;
    co_return {};
}

Result<ControllerPtr> make_pod_garbage_collector(Context& context) { return make_controller<PodGcController>(context); }

}  // namespace porthole::controllers
