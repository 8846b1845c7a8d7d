#include "scheduler/metrics.h"

#include "base/metrics_text.h"
#include "scheduler/scheduler.h"

namespace porthole::scheduler {

std::string metrics_text(const Scheduler& scheduler) {
    const SchedulerCounts counts = scheduler.counts();
    const SchedulingQueue::Sizes sizes = scheduler.queue_sizes();
    std::string out;
    const MetricFamily attempts(out, "scheduler_schedule_attempts_total", "counter", "Attempts to place a pod, by result.");
    for (const auto& [name, of_profile] : scheduler.profiles()) {
        const std::string profile = metric_label("profile", name) + ',';
        attempts.add(profile + metric_label("result", "scheduled"), of_profile.scheduled);
        attempts.add(profile + metric_label("result", "unschedulable"), of_profile.unschedulable);
        attempts.add(profile + metric_label("result", "error"), of_profile.errors);
    }

    const MetricFamily pending(out, "scheduler_pending_pods", "gauge", "Pods without a node, by the queue they are in.");
    pending.add(metric_label("queue", "active"), sizes.active);
    pending.add(metric_label("queue", "backoff"), sizes.backoff);
    pending.add(metric_label("queue", "unschedulable"), sizes.unschedulable);
    pending.add(metric_label("queue", "gated"), sizes.gated);

    MetricFamily(out, "scheduler_preemption_attempts_total", "counter", "Attempts to preempt pods for a pod of higher priority.")
        .add("", counts.preemptions);
    for (const auto& plugin : scheduler.plugins()) plugin->append_metrics(out);
    return out;
}

}  // namespace porthole::scheduler
