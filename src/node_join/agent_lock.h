#pragma once
#include <string>

#include "base/result.h"

namespace porthole::node_join {

/// Held by the one agent that works in a data directory, until it ends, however it ends.
class AgentLock {
public:
    /// Error: AlreadyExists, naming the agent that has it; Io.
    static Result<AgentLock> take(const std::string& data);
    AgentLock(AgentLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    AgentLock& operator=(AgentLock&& other) = delete;
    ~AgentLock();

private:
    explicit AgentLock(int fd) : fd_(fd) {}
    int fd_;
};

}  // namespace porthole::node_join
