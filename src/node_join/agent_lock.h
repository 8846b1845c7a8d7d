#pragma once
#include <string>

#include "runtime/files/file_lock.h"

namespace porthole::node_join {

/// For the one agent that works in a data directory. Errors: AlreadyExists, naming the agent that has it; Io.
Result<FileLock> take_agent_lock(const std::string& data);

}  // namespace porthole::node_join
