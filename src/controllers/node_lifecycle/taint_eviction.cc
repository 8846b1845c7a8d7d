#include "controllers/node_lifecycle/taint_eviction.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/framework/pod_disruption.h"
#include "objects/pods.h"
#include "objects/tolerations.h"

namespace porthole::controllers {

using api::core::v1::Taint;
using api::core::v1::Toleration;

namespace {

/// Longer than anybody waits, and still a Duration when added to a time.
constexpr std::int64_t MostSeconds = 100LL * 365 * 24 * 3600;

Taints only_no_execute(const api::core::v1::Node& node) {
    Taints taints;
    std::ranges::copy_if(node.spec.taints, std::back_inserter(taints), [](const Taint& taint) { return taint.effect == NoExecute; });
    return taints;
}

}  // namespace

std::optional<Duration> tolerated_for(const Taints& taints, const std::vector<Toleration>& tolerations) {
    std::optional<Duration> shortest;
    for (const Taint& taint : taints) {
        const auto used =
            std::ranges::find_if(tolerations, [&](const Toleration& toleration) { return objects::tolerates(toleration, taint); });
        if (used == tolerations.end()) return Duration::zero();
        if (!used->toleration_seconds) continue;
        const Duration time = std::chrono::seconds(std::clamp<std::int64_t>(*used->toleration_seconds, 0, MostSeconds));
        shortest = std::min(shortest.value_or(time), time);
    }
    return shortest;
}

TaintEvictionController::TaintEvictionController(Context& context)
    : Controller(context.loop, context.log, {.name = "taint-eviction", .workers = 8}),
      client_(context.client),
      events_(context.events.get("taint-eviction-controller")),
      nodes_(depends_on(context.informers.get<Node>())),
      pods_(context.informers.get<Pod>()),
      pods_by_node_(context.pods_by_node()) {
    nodes_.subscribe({.added = [this](const auto& node) { look_at_pods_of(*node); },
                      .updated =
                          [this](const auto& old, const auto& node) {
                              if (only_no_execute(*old) != only_no_execute(*node)) look_at_pods_of(*node);
                          },
                      .deleted = [this](const auto& node) { look_at_pods_of(*node); }});
    reconcile_each(pods_);
}

void TaintEvictionController::look_at_pods_of(const Node& node) {
    for (const auto& pod : pods_by_node_.find(node.metadata.name)) queue().add(client::key_of(*pod));
}

Taints TaintEvictionController::no_execute_taints_of(const std::string& name) const {
    const auto node = nodes_.find({"", name});
    return node ? only_no_execute(*node) : Taints();
}

Task<client::Requeue> TaintEvictionController::reconcile(client::NamespacedName key) {
    const auto pod = pods_.find(key);
    const auto known = pending_.find(key);
    if (known != pending_.end() && (!pod || pod->metadata.uid != known->second.uid)) pending_.erase(known);
    if (!pod || pod->spec.node_name.empty()) co_return client::Requeue::never();
    if (objects::is_terminating(*pod)) {
        pending_.erase(key);
        co_return client::Requeue::never();
    }
    const auto time = tolerated_for(no_execute_taints_of(pod->spec.node_name), pod->spec.tolerations);
    if (!time) {
        cancel(*pod);
        co_return client::Requeue::never();
    }
    const auto since = pending_.try_emplace(key, Pending{pod->metadata.uid, loop().now()}).first->second.since;
    const Duration left = since + *time - loop().now();
    if (left > Duration::zero()) co_return client::Requeue::in(left);
    const PodDisruption why{
        .reason = "DeletionByTaintManager", .message = "Taint manager: deleting due to NoExecute taint", .tell = [this, pod] {
            events_.normal(*pod, "TaintManagerEviction", "Marking for deletion Pod " + client::key_of(*pod).text());
        }};
    CO_TRY_VOID(co_await delete_disrupted(client_, *pod, why, Timestamp(loop().wall_now())));
    pending_.erase(key);
    co_return client::Requeue::never();
}

void TaintEvictionController::cancel(const Pod& pod) {
    const auto key = client::key_of(pod);
    if (pending_.erase(key)) events_.normal(pod, "TaintManagerEviction", "Cancelling deletion of Pod " + key.text());
}

Result<ControllerPtr> make_taint_eviction(Context& context) { return make_controller<TaintEvictionController>(context); }

}  // namespace porthole::controllers
