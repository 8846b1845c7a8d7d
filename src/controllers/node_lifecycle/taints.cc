#include "controllers/node_lifecycle/taints.h"

#include "objects/conditions.h"

#include <algorithm>
#include <array>

namespace porthole::controllers {

using namespace api::core::v1;

namespace {

/// A condition in that state asks for that taint.
struct Rule {
    std::string_view condition, status, taint;
};
constexpr std::array Rules = {
    Rule{"Ready", "False", NotReadyTaint},
    Rule{"Ready", "Unknown", UnreachableTaint},
    Rule{"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    Rule{"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    Rule{"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
    Rule{"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
};
constexpr std::string_view UnschedulableTaint = "node.kubernetes.io/unschedulable";

bool is_wanted(const Node& node, const Rule& rule) {
    const NodeCondition* condition = objects::find_condition(node.status.conditions, rule.condition);
    if (!condition) return rule.taint == NotReadyTaint && has_taint(node, NotReadyTaint, NoSchedule);
    return condition->status == rule.status;
}

void set_taint(Taints& taints, std::string_view key, std::string_view effect, bool wanted, SystemTime now) {
    const auto is_it = [&](const Taint& taint) { return taint.key == key && taint.effect == effect; };
    if (!wanted) {
        std::erase_if(taints, is_it);
    } else if (std::ranges::none_of(taints, is_it)) {
        taints.push_back({.key = std::string(key), .value = {}, .effect = std::string(effect), .time_added = Timestamp(now)});
    }
}

}  // namespace

std::string_view ready_status(const Node& node) {
    const NodeCondition* ready = objects::find_condition(node.status.conditions, "Ready");
    return ready ? std::string_view(ready->status) : std::string_view();
}

bool has_taint(const Node& node, std::string_view key, std::string_view effect) {
    return std::ranges::any_of(node.spec.taints, [&](const Taint& taint) { return taint.key == key && taint.effect == effect; });
}

Taints no_schedule_taints(const Node& node, SystemTime now) {
    Taints taints = node.spec.taints;
    for (const Rule& rule : Rules) set_taint(taints, rule.taint, NoSchedule, is_wanted(node, rule), now);
    set_taint(taints, UnschedulableTaint, NoSchedule, node.spec.unschedulable, now);
    return taints;
}

Taints no_execute_taints(const Node& node, std::string_view wanted_key, SystemTime now) {
    Taints taints = node.spec.taints;
    for (const std::string_view key : {NotReadyTaint, UnreachableTaint}) set_taint(taints, key, NoExecute, key == wanted_key, now);
    return taints;
}

}  // namespace porthole::controllers
