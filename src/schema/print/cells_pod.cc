#include <algorithm>
#include <optional>

#include "schema/print/cells.h"

namespace porthole::schema {
namespace {

/// What one walk over a pod's containers yields for its columns.
struct PodSummary {
    std::string status;
    std::int64_t ready = 0, total = 0, restarts = 0;
    std::optional<Timestamp> last_restart;
};

/// Restarts of some containers, and when the last of them ended.
struct Restarts {
    std::int64_t count = 0;
    std::optional<Timestamp> last;

    void add(const Value& status) {
        count += at(status, "restartCount").int_or(0);
        const auto ended = Timestamp::parse(status.string_at({"lastState", "terminated", "finishedAt"}));
        if (ended && !ended->is_zero() && (!last || *last < *ended)) last = *ended;
    }
};

bool is_restartable(const Value& container) { return container.string_at({"restartPolicy"}) == "Always"; }

const Value& container_named(const Value& containers, std::string_view name) {
    for (const Value& container : items_of(containers)) {
        if (container.string_at({"name"}) == name) return container;
    }
    return null_value();
}

/// Why a container has ended: its reason, else its signal or exit code.
std::string ending(const Value& terminated) {
    const std::string reason(terminated.string_at({"reason"}));
    if (!reason.empty()) return reason;
    if (const std::int64_t signal = at(terminated, "signal").int_or(0); signal != 0) return "Signal:" + std::to_string(signal);
    return "ExitCode:" + std::to_string(at(terminated, "exitCode").int_or(0));
}

class PodWalk {
public:
    explicit PodWalk(const Value& pod) : pod_(pod), spec_(at(pod, "spec")), status_(at(pod, "status")) {}

    PodSummary summarize() {
        summary_.total = std::ssize(items_of(at(spec_, "containers")));
        for (const Value& container : items_of(at(spec_, "initContainers"))) summary_.total += is_restartable(container);
        start_with_phase();
        Restarts all, sidecars;
        const bool initializing = walk_init_containers(all, sidecars);
        if (!initializing || is_true(find_condition(pod_, "Initialized"))) {
            all = sidecars;
            walk_containers(all);
        }
        show_deletion();
        summary_.restarts = all.count;
        summary_.last_restart = all.last;
        return summary_;
    }

private:
    void start_with_phase() {
        const std::string_view reason = status_.string_at({"reason"});
        summary_.status = reason.empty() ? status_.string_at({"phase"}) : reason;
        if (find_condition(pod_, "PodScheduled").string_at({"reason"}) == "SchedulingGated") summary_.status = "SchedulingGated";
    }

    /// True when one of them is still to finish: it then names the pod's status.
    bool walk_init_containers(Restarts& all, Restarts& sidecars) {
        const Array& statuses = items_of(at(status_, "initContainerStatuses"));
        for (std::size_t i = 0; i < statuses.size(); ++i) {
            const Value& status = statuses[i];
            const bool sidecar = is_restartable(container_named(at(spec_, "initContainers"), status.string_at({"name"})));
            all.add(status);
            if (sidecar) sidecars.add(status);
            const Value* terminated = status.at_path({"state", "terminated"});
            if (terminated && at(*terminated, "exitCode").int_or(0) == 0) continue;
            if (sidecar && at(status, "started").bool_or(false)) {
                summary_.ready += at(status, "ready").bool_or(false);
                continue;
            }
            const std::string waiting(status.string_at({"state", "waiting", "reason"}));
            if (terminated)
                summary_.status = "Init:" + ending(*terminated);
            else if (!waiting.empty() && waiting != "PodInitializing")
                summary_.status = "Init:" + waiting;
            else
                summary_.status = "Init:" + std::to_string(i) + "/" + std::to_string(items_of(at(spec_, "initContainers")).size());
            return true;
        }
        return false;
    }

    void walk_containers(Restarts& restarts) {
        const Array& statuses = items_of(at(status_, "containerStatuses"));
        bool running = false;
        for (std::size_t i = statuses.size(); i-- > 0;) {
            const Value& status = statuses[i];
            restarts.add(status);
            const Value* terminated = status.at_path({"state", "terminated"});
            const std::string_view waiting = status.string_at({"state", "waiting", "reason"});
            if (!waiting.empty()) {
                summary_.status = waiting;
            } else if (terminated) {
                summary_.status = ending(*terminated);
            } else if (at(status, "ready").bool_or(false) && status.at_path({"state", "running"})) {
                running = true;
                ++summary_.ready;
            }
        }
        if (summary_.status == "Completed" && running) {
            summary_.status = is_true(find_condition(pod_, "Ready")) ? "Running" : "NotReady";
        }
    }

    void show_deletion() {
        if (!pod_.at_path({"metadata", "deletionTimestamp"})) return;
        const std::string_view phase = status_.string_at({"phase"});
        if (status_.string_at({"reason"}) == "NodeLost")
            summary_.status = "Unknown";
        else if (phase != "Succeeded" && phase != "Failed")
            summary_.status = "Terminating";
    }

    const Value& pod_;
    const Value& spec_;
    const Value& status_;
    PodSummary summary_;
};

Value pod_ready(const Cell& cell) {
    const PodSummary summary = PodWalk(cell.object).summarize();
    return std::to_string(summary.ready) + "/" + std::to_string(summary.total);
}

Value pod_status(const Cell& cell) { return PodWalk(cell.object).summarize().status; }

Value pod_restarts(const Cell& cell) {
    const PodSummary summary = PodWalk(cell.object).summarize();
    std::string text = std::to_string(summary.restarts);
    if (summary.restarts > 0 && summary.last_restart) text += " (" + format_age(cell.now - *summary.last_restart) + " ago)";
    return text;
}

Value pod_readiness_gates(const Cell& cell) {
    const Value* gates = cell.object.at_path({"spec", "readinessGates"});
    if (!gates || items_of(*gates).empty()) return "<none>";
    std::size_t passed = 0;
    for (const Value& gate : items_of(*gates)) passed += is_true(find_condition(cell.object, gate.string_at({"conditionType"})));
    return std::to_string(passed) + "/" + std::to_string(items_of(*gates).size());
}

constexpr CellFunction pod_functions[] = {
    {"pod_ready", pod_ready},
    {"pod_status", pod_status},
    {"pod_restarts", pod_restarts},
    {"pod_readiness_gates", pod_readiness_gates},
};

}  // namespace

const std::span<const CellFunction> pod_cells = pod_functions;

}  // namespace porthole::schema
