#include "local_cluster/processes/node_progress.h"

#include "base/time/time.h"
#include "schema/value.h"

namespace porthole::local_cluster {

namespace {

/// Heartbeats are in whole seconds.
bool is_reported_since(const schema::Value& condition, SystemTime since) {
    const auto heartbeat = Timestamp::parse(condition.string_at({"lastHeartbeatTime"}));
    return heartbeat && heartbeat->to_system_time() >= std::chrono::floor<std::chrono::seconds>(since);
}

}  // namespace

NodeProgress progress_of(const schema::Value& node, SystemTime since) {
    NodeProgress progress{.waits_for = "its kubelet has not reported its state", .state = std::string(node.string_at({"spec", "podCIDR"}))};
    const schema::Value* conditions = node.at_path({"status", "conditions"});
    if (!conditions || !conditions->is_array()) return progress;
    for (const schema::Value& condition : conditions->as_array()) {
        for (const char* field : {"type", "status", "reason", "message"})
            progress.state += '\n' + std::string(condition.string_at({field}));
        if (condition.string_at({"type"}) != "Ready") continue;
        if (!is_reported_since(condition, since)) continue;
        progress.state += "\nreported";
        progress.ready = condition.string_at({"status"}) == "True";
        progress.waits_for = condition.string_at({"message"});
    }
    return progress;
}

bool ProgressLimit::is_passed(MonotonicTime now, const std::string& state) {
    if (state != state_) {
        state_ = state;
        changed_ = now;
    }
    return now - changed_ > still_ || now > end_;
}

}  // namespace porthole::local_cluster
