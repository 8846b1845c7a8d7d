#include "local_cluster/drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "api/core_v1.h"
#include "base/result.h"
#include "objects/node_selectors.h"
#include "objects/owners.h"
#include "objects/pods.h"
#include "runtime/scope.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;
using client::Client;
using client::NamespacedName;
using schema::Value;

constexpr Duration RetryPause = 5s, LookPause = 500ms;

bool stays(const Pod& pod) {
    const auto* owner = objects::find_controller(pod.metadata);
    return pod.metadata.annotations.contains("kubernetes.io/config.mirror") || (owner && owner->kind == "DaemonSet");
}

Task<> set_unschedulable(Client& client, std::string node, bool value) {
    const Value patch = Value::object({{"spec", Value::object({{"unschedulable", value ? Value(true) : Value()}})}});
    CO_TRY_VOID(co_await client.patch<Node>({"", node}, client::PatchType::Merge, schema::to_json(patch)));
    co_return {};
}

/// Volumes in use whose data can be reached from no other node.
Task<> check_volumes(Client& client, std::string name) {
    CO_TRY(const auto volumes, co_await client.list<PersistentVolume>());
    CO_TRY(const auto nodes, co_await client.list<Node>());
    for (const PersistentVolume& volume : volumes.items) {
        if (!volume.spec.claim_ref || !volume.spec.node_affinity || !volume.spec.node_affinity->required) continue;
        const auto reaches = [&](const Node& node) { return objects::matches(*volume.spec.node_affinity->required, node); };
        const auto is_other = [&](const Node& node) { return node.metadata.name != name && reaches(node); };
        if (std::ranges::none_of(nodes.items, reaches) || std::ranges::any_of(nodes.items, is_other)) continue;
        const auto& claim = *volume.spec.claim_ref;
        co_return Error(
            Reason::Conflict,
            fmt::format("the data of claim {}/{} are on {} alone and would be lost; delete the claim first: kubectl delete pvc -n {} {}",
                        claim.namespace_, claim.name, name, claim.namespace_, claim.name));
    }
    co_return {};
}

Task<std::vector<Pod>> pods_to_evict(Client& client, std::string node) {
    CO_TRY(auto listed, co_await client.list<Pod>({.field_selector = "spec.nodeName=" + node}));
    std::erase_if(listed.items, [](const Pod& pod) { return stays(pod) || objects::is_terminal(pod); });
    co_return std::move(listed.items);
}

Result<void> check_controllers(const std::vector<Pod>& pods, const std::string& node) {
    for (const Pod& pod : pods)
        if (!objects::find_controller(pod.metadata))
            return Error(Reason::Conflict,
                         fmt::format("no controller would make pod {}/{} again, which runs on {}; delete it first: kubectl "
                                     "delete pod -n {} {}",
                                     pod.metadata.namespace_, pod.metadata.name, node, pod.metadata.namespace_, pod.metadata.name));
    return {};
}

/// Until it is gone, or has become another pod of the same name.
Task<> evict(EventLoop& loop, Client& client, Pod pod, MonotonicTime deadline) {
    const NamespacedName key = client::key_of(pod);
    const Value eviction = Value::object({{"apiVersion", "policy/v1"},
                                          {"kind", "Eviction"},
                                          {"metadata", Value::object({{"namespace", key.namespace_}, {"name", key.name}})}});
    std::string why = "it has not ended";
    for (bool is_asked = false;;) {
        if (!is_asked) {
            const auto asked = co_await client.post(Client::path(Pod::kind(), key, "eviction"), schema::to_json(eviction));
            if (!asked && is_not_found(asked)) co_return {};
            if (!asked && asked.error().reason != Reason::TooManyRequests)
                co_return Error(asked.error()).with_context("evicting pod " + key.text());
            is_asked = asked.has_value();
            if (!is_asked) why = asked.error().message;
        } else {
            const auto found = co_await client.get<Pod>(key);
            if (is_not_found(found) || (found && found->metadata.uid != pod.metadata.uid)) co_return {};
            why = "it has not ended";
        }
        if (loop.now() >= deadline) co_return Error(Reason::Timeout, fmt::format("pod {} could not be evicted: {}", key.text(), why));
        CO_TRY_VOID(co_await loop.sleep(is_asked ? LookPause : RetryPause));
    }
}

Task<> evict_all(EventLoop& loop, Client& client, std::string node, Duration limit) {
    CO_TRY(std::vector<Pod> pods, co_await pods_to_evict(client, node));
    CO_TRY_VOID(check_controllers(pods, node));
    std::vector<Task<>> evictions;
    for (Pod& pod : pods) evictions.push_back(evict(loop, client, std::move(pod), loop.now() + limit));
    CO_TRY(auto results, co_await when_all(std::move(evictions)));
    for (auto& result : results) CO_TRY_VOID(std::move(result));
    co_return {};
}

}  // namespace

Task<> drain(EventLoop& loop, Client& client, std::string node, Duration limit) {
    CO_TRY_VOID(co_await check_volumes(client, node));
    CO_TRY_VOID(co_await set_unschedulable(client, node, true));
    auto emptied = co_await evict_all(loop, client, node, limit);
    if (!emptied && !is_cancelled(emptied)) (void)co_await set_unschedulable(client, node, false);
    co_return emptied;
}

}  // namespace porthole::local_cluster
