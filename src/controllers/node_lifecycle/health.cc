#include "controllers/node_lifecycle/health.h"

#include <algorithm>
#include <array>

#include "controllers/node_lifecycle/taints.h"
#include "objects/conditions.h"

namespace porthole::controllers {

using namespace api::core::v1;

namespace {

constexpr std::array<const char*, 4> KubeletConditions = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"};
constexpr const char* NeverUpdated = "NodeStatusNeverUpdated";

/// Zero when the node has never said anything; what mark_silent() writes is nothing that the node has said.
Timestamp last_report(const Node& node) {
    const NodeCondition* ready = objects::find_condition(node.status.conditions, "Ready");
    return ready && ready->reason != NeverUpdated ? ready->last_heartbeat_time : Timestamp();
}

}  // namespace

void Heartbeats::observe(const Node& node, const api::coordination::v1::Lease* lease, MonotonicTime now) {
    const MicroTimestamp renewed = lease ? lease->spec.renew_time.value_or(MicroTimestamp()) : MicroTimestamp();
    const Timestamp reported = last_report(node);
    const auto [entry, is_new] = seen_.try_emplace(node.metadata.name, Seen{now, renewed, reported});
    Seen& seen = entry->second;
    if (is_new || (renewed <= seen.renewed && reported == seen.reported)) return;
    seen = {now, std::max(renewed, seen.renewed), reported};
}

void Heartbeats::forgive(MonotonicTime now) {
    for (auto& [name, seen] : seen_) seen.heard = now;
}

void Heartbeats::keep_only(const std::set<std::string>& nodes) {
    std::erase_if(seen_, [&](const auto& entry) { return !nodes.contains(entry.first); });
}

bool mark_silent(Node& node, SystemTime now) {
    bool changed = false;
    for (const char* type : KubeletConditions) {
        const auto found = std::ranges::find(node.status.conditions, type, &NodeCondition::type);
        if (found == node.status.conditions.end()) {
            node.status.conditions.push_back({.type = type,
                                              .status = "Unknown",
                                              .last_heartbeat_time = node.metadata.creation_timestamp,
                                              .last_transition_time = Timestamp(now),
                                              .reason = NeverUpdated,
                                              .message = "Kubelet never posted node status."});
        } else if (found->status != "Unknown") {
            found->status = "Unknown";
            found->reason = "NodeStatusUnknown";
            found->message = "Kubelet stopped posting node status.";
            found->last_transition_time = Timestamp(now);
        } else {
            continue;
        }
        changed = true;
    }
    return changed;
}

}  // namespace porthole::controllers
