#include "fleet/fleet_pods.h"

#include "api/core_v1.h"
#include "base/result.h"

namespace porthole::fleet {
namespace {

using namespace std::chrono_literals;
using client::Requeue;

constexpr Duration AddressRetry = 1s;
/// A step is not repeated at once where the watch shows something else first.
constexpr Duration SameStepPeriod = 10s;
/// A server that is busy is asked again by all pods of all nodes, as it would be by their kubelets.
constexpr client::WorkQueue::RateLimit Retries{.first = 100ms, .longest = 30s, .per_second = 1000, .burst = 1000};

const FleetPod& pod_of(const client::InformerCore::Object& object) { return *static_cast<const FleetPod*>(object.get()); }

}  // namespace

FleetPods::FleetPods(client::InformerContext context, const FleetPlan& plan, FleetNodes& nodes, PodModel& model, std::size_t in_flight)
    : Controller(context.loop, context.log, {.name = "fleet-pods", .workers = in_flight}, Retries),
      client_(context.client),
      plan_(plan),
      nodes_(nodes),
      model_(model),
      informer_(std::move(context), {api::core::v1::Pod::kind(), false, model.decoder()}, {.field_selector = "spec.nodeName!="}) {
    informer_.subscribe({.added = [this](const Object& now) { observe(nullptr, &pod_of(now)); },
                         .updated = [this](const Object& old, const Object& now) { observe(&pod_of(old), &pod_of(now)); },
                         .deleted = [this](const Object& last) { observe(&pod_of(last), nullptr); }});
}

Task<> FleetPods::follow() {
    // Addresses that pods have are kept in ranges that are known.
    CO_TRY_VOID(co_await nodes_.wait_for_sync());
    co_return co_await informer_.run();
}

void FleetPods::observe(const FleetPod* old, const FleetPod* now) {
    const FleetPod& shown = now ? *now : *old;
    const auto node = plan_.find(shown.node);
    if (!node) return;
    if (!now || now->is_over()) {
        nodes_.release_address(*node, shown.address);
    } else if (!now->address.empty()) {
        nodes_.keep_address(*node, now->address);
    }
    if (!old) ++counts_.assigned;
    if (!now) --counts_.assigned;
    if (old && old->phase == "Running") --counts_.running;
    if (now && now->phase == "Running") ++counts_.running;
    queue().add(shown.key);
}

Task<Requeue> FleetPods::reconcile(client::NamespacedName key) {
    auto pod = std::static_pointer_cast<const FleetPod>(informer_.find(key));
    const auto node = pod ? plan_.find(pod->node) : std::nullopt;
    auto step = node ? model_.next(*pod) : std::nullopt;
    if (!step) {
        waiting_.erase(key);
        co_return Requeue::never();
    }
    const auto [waiting, is_new] = waiting_.try_emplace(key);
    // The watch may show the last status of a pod that has been removed, which has another step.
    const bool is_same = waiting->second.uid == pod->uid && (waiting->second.step == step->name || waiting->second.removed);
    if (is_new || !is_same) waiting->second = {pod->uid, step->name, loop().now(), std::nullopt};
    const auto& performed = waiting->second.performed;
    const Duration left = (performed ? *performed + SameStepPeriod : waiting->second.since + step->delay) - loop().now();
    if (left > Duration::zero()) co_return Requeue::in(left);
    co_return co_await perform(std::move(pod), *node, std::move(step->name));
}

Task<Requeue> FleetPods::perform(std::shared_ptr<const FleetPod> pod, std::size_t node, std::string step) {
    std::string taken;
    const PodPlace place{plan_.address(node), [&] {
                             auto address = nodes_.take_address(node);
                             if (address) taken = *address;
                             return address;
                         }};
    auto change = model_.perform(*pod, step, place, loop().wall_now());
    if (!change && change.error().reason == Reason::ServiceUnavailable) co_return Requeue::in(AddressRetry);
    CO_TRY(change, std::move(change));
    const bool removes = change->remove;
    auto done = co_await carry_out(*pod, std::move(*change));
    if (!done && !taken.empty()) nodes_.release_address(node, taken);
    // Another pod of that name, or none: the watch will say so.
    if (!done && (is_not_found(done) || done.error().reason == Reason::Conflict)) co_return Requeue::never();
    CO_TRY_VOID(std::move(done));
    ++counts_.steps;
    if (const auto waiting = waiting_.find(pod->key); waiting != waiting_.end() && waiting->second.uid == pod->uid)
        waiting->second.performed = loop().now(), waiting->second.removed = removes;
    co_return Requeue::never();
}

/// Error: NotFound or Conflict where it is no longer the same pod.
Task<> FleetPods::carry_out(const FleetPod& pod, PodChange change) {
    const schema::Kind& kind = core::Pod::kind();
    if (!change.status_patch.empty()) {
        CO_TRY_VOID(co_await client_.patch_raw(client::Client::path(kind, pod.key, "status"), client::PatchType::StrategicMerge,
                                               std::move(change.status_patch)));
    }
    if (change.empties_finalizers) {
        std::string body = R"({"metadata":{"uid":")" + pod.uid + R"(","finalizers":null}})";
        CO_TRY_VOID(co_await client_.patch_raw(client::Client::path(kind, pod.key, ""), client::PatchType::Merge, std::move(body)));
    }
    if (!change.remove) co_return {};
    client::DeleteOptions options;
    options.uid = pod.uid;
    options.grace_period_seconds = 0;
    co_return co_await client_.remove<core::Pod>(pod.key, std::move(options));
}

}  // namespace porthole::fleet
