#include "node_join/agent_lock.h"

#include <filesystem>

namespace porthole::node_join {

Result<FileLock> take_agent_lock(const std::string& data) {
    std::error_code ignored;
    std::filesystem::create_directories(data, ignored);
    const std::string path = data + "/agent.lock";
    TRY(auto lock, FileLock::try_take(path));
    if (!lock)
        return Error(Reason::AlreadyExists,
                     "an agent already runs with --data " + data + " (" + FileLock::read_holder(path) + "); end it first");
    TRY_VOID(lock->write_holder());
    return *std::move(lock);
}

}  // namespace porthole::node_join
