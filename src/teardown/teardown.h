#pragma once
#include <string>

#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::cmd {

/// Stops and removes every sandbox that the runtime at this endpoint has. Error: Unavailable when it does not answer.
Task<> remove_pods(AsioLoop& loop, std::string endpoint);

}  // namespace porthole::cmd
