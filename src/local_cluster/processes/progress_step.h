#pragma once
#include <string>

#include "base/progress_report.h"
#include "runtime/task.h"

namespace porthole::local_cluster {

/// Reports `work` as a step of that name, and returns its result. `report` outlives it.
Task<> step(ProgressReport& report, std::string name, Task<> work);

}  // namespace porthole::local_cluster
