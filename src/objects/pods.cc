#include "objects/pods.h"

#include "objects/conditions.h"

namespace porthole::objects {

using api::core::v1::Pod;

bool is_ready(const Pod& pod) { return is_condition_true(pod.status.conditions, "Ready"); }

bool is_available(const Pod& pod, std::chrono::seconds min_ready, SystemTime now) {
    if (!is_ready(pod)) return false;
    if (min_ready <= min_ready.zero()) return true;
    const Timestamp since = find_condition(pod.status.conditions, "Ready")->last_transition_time;
    return !since.is_zero() && since.to_system_time() + min_ready <= now;
}

bool is_terminal(const Pod& pod) { return pod.status.phase == "Succeeded" || pod.status.phase == "Failed"; }

bool is_active(const Pod& pod) { return !is_terminal(pod) && !is_terminating(pod); }

}  // namespace porthole::objects
