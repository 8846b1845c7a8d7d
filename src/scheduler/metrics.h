#pragma once
#include <string>

namespace porthole::scheduler {

class Scheduler;

/// The scheduler's counters and queue lengths, in Prometheus' text form under Kubernetes' names. On the scheduler's loop.
std::string metrics_text(const Scheduler& scheduler);

}  // namespace porthole::scheduler
