#include "client/pods.h"

namespace porthole::client {

using api::core::v1::Pod;
using api::core::v1::PodCondition;
using api::core::v1::PodStatus;

const PodCondition* find_condition(const PodStatus& status, std::string_view type) {
    for (const PodCondition& condition : status.conditions)
        if (condition.type == type) return &condition;
    return nullptr;
}

bool is_ready(const Pod& pod) {
    const PodCondition* ready = find_condition(pod.status, "Ready");
    return ready && ready->status == "True";
}

bool is_available(const Pod& pod, std::chrono::seconds min_ready, SystemTime now) {
    if (!is_ready(pod)) return false;
    if (min_ready <= min_ready.zero()) return true;
    const Timestamp since = find_condition(pod.status, "Ready")->last_transition_time;
    return !since.is_zero() && since.to_system_time() + min_ready <= now;
}

bool is_terminal(const Pod& pod) { return pod.status.phase == "Succeeded" || pod.status.phase == "Failed"; }

bool is_active(const Pod& pod) { return !is_terminal(pod) && !is_terminating(pod); }

bool set_condition(PodStatus& status, PodCondition condition, SystemTime now) {
    for (PodCondition& present : status.conditions) {
        if (present.type != condition.type) continue;
        condition.last_transition_time = present.status == condition.status ? present.last_transition_time : Timestamp(now);
        condition.last_probe_time = present.last_probe_time;
        if (present == condition) return false;
        present = std::move(condition);
        return true;
    }
    if (condition.last_transition_time.is_zero()) condition.last_transition_time = Timestamp(now);
    status.conditions.push_back(std::move(condition));
    return true;
}

}  // namespace porthole::client
