#include "scheduler/metrics.h"

#include "scheduler/scheduler.h"

namespace porthole::scheduler {
namespace {

void head(std::string& out, const char* name, const char* type, const char* help) {
    out += std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
}

}  // namespace

std::string metrics_text(const Scheduler& scheduler) {
    const SchedulerCounts& counts = scheduler.counts();
    const SchedulingQueue::Sizes sizes = scheduler.queue_sizes();
    std::string out;
    head(out, "scheduler_schedule_attempts_total", "counter", "Attempts to place a pod, by result.");
    const auto attempts = [&](const char* result, std::uint64_t count) {
        out += std::string("scheduler_schedule_attempts_total{profile=\"") + scheduler.name() + "\",result=\"" + result + "\"} " +
               std::to_string(count) + '\n';
    };
    attempts("scheduled", counts.scheduled);
    attempts("unschedulable", counts.unschedulable);
    attempts("error", counts.errors);

    head(out, "scheduler_pending_pods", "gauge", "Pods without a node, by the queue they are in.");
    const auto pending = [&](const char* queue, std::size_t count) {
        out += std::string("scheduler_pending_pods{queue=\"") + queue + "\"} " + std::to_string(count) + '\n';
    };
    pending("active", sizes.active);
    pending("backoff", sizes.backoff);
    pending("unschedulable", sizes.unschedulable);
    pending("gated", sizes.gated);

    head(out, "scheduler_preemption_attempts_total", "counter", "Attempts to preempt pods for a pod of higher priority.");
    out += "scheduler_preemption_attempts_total " + std::to_string(counts.preemptions) + '\n';
    return out;
}

}  // namespace porthole::scheduler
