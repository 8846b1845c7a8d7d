#include "provision/node_object.h"

#include <algorithm>

#include "objects/conditions.h"
#include "schema/json/json.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using api::core::v1::Node;
using api::core::v1::Taint;
using client::Client;
using schema::Value;

constexpr Duration Pause = 1s;
constexpr int Attempts = 5;  ///< of a write that others come before

Taint parse_taint(const std::string& text) {
    const std::size_t colon = text.rfind(':'), equals = text.find('=');
    Taint taint;
    taint.key = text.substr(0, std::min(colon, equals));
    if (equals < colon) taint.value = text.substr(equals + 1, colon - equals - 1);
    taint.effect = text.substr(colon + 1);
    return taint;
}

/// A node has one taint of a key and effect.
bool is_same(const Taint& left, const Taint& right) { return left.key == right.key && left.effect == right.effect; }

bool contains(const std::vector<std::string>& texts, const Taint& taint) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return is_same(parse_taint(text), taint); });
}

std::vector<Taint> wanted_taints(const Node& node, const MachineDescription& wanted, const MachineDescription& before) {
    std::vector<Taint> taints;
    for (const Taint& taint : node.spec.taints)
        if (!contains(before.taints, taint) || contains(wanted.taints, taint)) taints.push_back(taint);
    for (const std::string& text : wanted.taints) {
        const Taint ours = parse_taint(text);
        const auto there = std::ranges::find_if(taints, [&](const Taint& taint) { return is_same(taint, ours); });
        if (there == taints.end())
            taints.push_back(ours);
        else
            there->value = ours.value;
    }
    return taints;
}

std::map<std::string, std::string> wanted_labels(const Node& node, const MachineDescription& wanted, const MachineDescription& before) {
    auto labels = node.metadata.labels;
    for (const auto& [key, value] : before.labels) labels.erase(key);
    for (const auto& [key, value] : wanted.labels) labels[key] = value;
    return labels;
}

/// What the node's condition says of itself; foreign text, but already the API's.
std::string state_of(const std::optional<Node>& node) {
    if (!node) return "it has not registered";
    const auto* ready = objects::find_condition(node->status.conditions, "Ready");
    if (!ready) return "it does not report whether it is Ready";
    return ready->status == "True" ? "its agent is silent since it was started" : ready->reason + ": " + ready->message;
}

}  // namespace

Task<std::optional<Node>> find_node(Client& client, std::string name) {
    auto found = co_await client.get<Node>({"", std::move(name)});
    if (is_not_found(found)) co_return std::optional<Node>();
    CO_TRY(Node node, std::move(found));
    co_return std::optional(std::move(node));
}

Timestamp last_heartbeat(const Node& node) {
    const auto* ready = objects::find_condition(node.status.conditions, "Ready");
    return ready ? ready->last_heartbeat_time : Timestamp();
}

Task<> wait_until_ready(EventLoop& loop, Client& client, std::string name, Timestamp since, Duration limit) {
    const MonotonicTime deadline = loop.now() + limit;
    for (;;) {
        CO_TRY(const auto node, co_await find_node(client, name));
        if (node && objects::is_ready(*node) && last_heartbeat(*node) > since) co_return {};
        if (loop.now() >= deadline) co_return Error(Reason::Timeout, "node " + name + " is not Ready in time: " + state_of(node));
        CO_TRY_VOID(co_await loop.sleep(Pause));
    }
}

Task<> set_labels_and_taints(Client& client, MachineDescription wanted, MachineDescription before) {
    Result<Node> written = Error(Reason::Conflict, "not tried");
    for (int attempt = 0; attempt < Attempts; ++attempt) {
        CO_TRY(Node node, co_await client.get<Node>({"", wanted.name}));
        auto labels = wanted_labels(node, wanted, before);
        auto taints = wanted_taints(node, wanted, before);
        if (labels == node.metadata.labels && taints == node.spec.taints) co_return {};
        node.metadata.labels = std::move(labels);
        node.spec.taints = std::move(taints);
        written = co_await client.update(std::move(node));
        if (written || written.error().reason != Reason::Conflict) break;
    }
    CO_TRY_VOID(std::move(written));
    co_return {};
}

}  // namespace porthole::provision
