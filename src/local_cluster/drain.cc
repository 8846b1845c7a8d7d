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
using api::core::v1::Node;
using api::core::v1::PersistentVolume;
using api::core::v1::Pod;
using client::Client;
using client::NamespacedName;
using schema::Value;

constexpr Duration RetryPause = 5s, LookPause = 500ms;

bool stays(const Pod& pod) {
    const auto* owner = objects::find_controller(pod.metadata);
    return pod.metadata.annotations.contains("kubernetes.io/config.mirror") || (owner && owner->kind == "DaemonSet");
}

/// Volumes whose data can be reached from none but these nodes.
Task<> check_volumes(Client& client, std::set<std::string> names) {
    CO_TRY(const auto volumes, co_await client.list<PersistentVolume>());
    CO_TRY(const auto nodes, co_await client.list<Node>());
    for (const PersistentVolume& volume : volumes.items) {
        if (!volume.spec.claim_ref || !volume.spec.node_affinity || !volume.spec.node_affinity->required) continue;
        const auto reaches = [&](const Node& node) { return objects::matches(*volume.spec.node_affinity->required, node); };
        const auto stays = [&](const Node& node) { return !names.contains(node.metadata.name) && reaches(node); };
        const auto found = std::ranges::find_if(nodes.items, reaches);
        if (found == nodes.items.end() || std::ranges::any_of(nodes.items, stays)) continue;
        const auto& claim = *volume.spec.claim_ref;
        const std::string& name = found->metadata.name;
        if (volume.status.phase == "Released")
            co_return Error(Reason::Conflict,
                            fmt::format("the data of volume {} are on {} alone and would be lost; delete the volume first: "
                                        "kubectl delete pv {}",
                                        volume.metadata.name, name, volume.metadata.name));
        co_return Error(Reason::Conflict, fmt::format("the data of claim {}/{} are on {} alone and would be lost; delete the claim first: "
                                                      "kubectl delete pvc -n {} {}",
                                                      claim.namespace_, claim.name, name, claim.namespace_, claim.name));
    }
    co_return {};
}

Task<std::vector<Pod>> pods_to_evict(Client& client, std::set<std::string> nodes) {
    std::vector<Pod> pods;
    for (const std::string& node : nodes) {
        CO_TRY(auto listed, co_await client.list<Pod>({.field_selector = "spec.nodeName=" + node}));
        for (Pod& pod : listed.items)
            if (!stays(pod) && !objects::is_terminal(pod)) pods.push_back(std::move(pod));
    }
    co_return pods;
}

Result<void> check_controllers(const std::vector<Pod>& pods) {
    for (const Pod& pod : pods)
        if (!objects::find_controller(pod.metadata))
            return Error(
                Reason::Conflict,
                fmt::format("no controller would make pod {}/{} again, which runs on {}; delete it first: kubectl "
                            "delete pod -n {} {}",
                            pod.metadata.namespace_, pod.metadata.name, pod.spec.node_name, pod.metadata.namespace_, pod.metadata.name));
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

Task<> evict_all(EventLoop& loop, Client& client, std::set<std::string> nodes, Duration limit) {
    CO_TRY_VOID(co_await check_volumes(client, nodes));
    CO_TRY(std::vector<Pod> pods, co_await pods_to_evict(client, nodes));
    CO_TRY_VOID(check_controllers(pods));
    std::vector<Task<>> evictions;
    for (Pod& pod : pods) evictions.push_back(evict(loop, client, std::move(pod), loop.now() + limit));
    CO_TRY(auto results, co_await when_all(std::move(evictions)));
    for (auto& result : results) CO_TRY_VOID(std::move(result));
    co_return co_await check_volumes(client, nodes);  // a claim may have been given one meanwhile
}

}  // namespace

Task<> set_unschedulable(Client& client, std::string node, bool value) {
    const Value patch = Value::object({{"spec", Value::object({{"unschedulable", value ? Value(true) : Value()}})}});
    const auto patched = co_await client.patch<Node>({"", node}, client::PatchType::Merge, schema::to_json(patch));
    if (!patched && !is_not_found(patched)) co_return patched.error();
    co_return {};
}

Task<> drain(EventLoop& loop, Client& client, std::set<std::string> nodes, Duration limit) {
    CO_TRY(const auto known, co_await client.list<Node>());
    std::vector<std::string> cordoned;
    for (const Node& node : known.items)
        if (nodes.contains(node.metadata.name) && !node.spec.unschedulable) cordoned.push_back(node.metadata.name);
    for (const std::string& node : cordoned) CO_TRY_VOID(co_await set_unschedulable(client, node, true));
    auto emptied = co_await evict_all(loop, client, nodes, limit);
    if (!emptied && !is_cancelled(emptied))
        for (const std::string& node : cordoned) (void)co_await set_unschedulable(client, node, false);
    co_return emptied;
}

}  // namespace porthole::local_cluster
