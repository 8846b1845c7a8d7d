#pragma once
#include <string>

namespace porthole::scheduler {

class Scheduler;

/// What the scheduler has done and what waits, in Prometheus' text form under Kubernetes' names. On the scheduler's loop.
std::string metrics_text(const Scheduler& scheduler);

}  // namespace porthole::scheduler
