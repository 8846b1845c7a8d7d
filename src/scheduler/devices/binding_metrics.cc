#include "scheduler/devices/binding_metrics.h"

#include <chrono>

namespace porthole::scheduler {
namespace {

// Upstream's: 0.1 s, and thirteen times twice as long.
constexpr double Bounds[] = {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2};

const char* text_of(BindingMetrics::Outcome outcome) {
    switch (outcome) {
        case BindingMetrics::Outcome::Success:
            return "success";
        case BindingMetrics::Outcome::Failure:
            return "failure";
        case BindingMetrics::Outcome::Timeout:
            return "timeout";
        case BindingMetrics::Outcome::Error:
            break;
    }
    return "error";
}

}  // namespace

void BindingMetrics::add(const std::string& profile, const std::vector<Device>& devices, Outcome outcome, Duration waited) {
    for (const Device& device : devices) {
        const std::string labels =
            metric_label("profile", profile) + ',' + metric_label("driver", device.driver) + ',' + metric_label("status", text_of(outcome));
        auto found = waits_.find(labels);
        if (found == waits_.end()) {
            if (waits_.size() == MostSeries) continue;
            found = waits_.emplace(labels, MetricHistogram(Bounds)).first;
        }
        found->second.add(std::chrono::duration<double>(waited).count());
        if (device.has_conditions) ++allocations_[labels];
    }
}

void BindingMetrics::append(std::string& out) const {
    if (waits_.empty()) return;
    const MetricFamily allocations(out, "scheduler_dra_bindingconditions_allocations_total", "counter",
                                   "Devices with binding conditions that pods have waited for, by outcome.");
    for (const auto& [labels, count] : allocations_) allocations.add(labels, count);
    const MetricFamily waits(out, "scheduler_dra_bindingconditions_wait_duration_seconds", "histogram",
                             "How long pods have waited for binding conditions, for each device of their claims.");
    for (const auto& [labels, histogram] : waits_) histogram.append(waits, labels);
}

}  // namespace porthole::scheduler
