#include "node_join/agent_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace porthole::node_join {

Result<AgentLock> AgentLock::take(const std::string& data) {
    std::error_code ignored;
    std::filesystem::create_directories(data, ignored);
    const std::string path = data + "/agent.lock";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return Error(Reason::Io, "cannot write " + path + ": " + std::strerror(errno));
    AgentLock lock(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        char pid[32] = "";
        (void)!::read(fd, pid, sizeof pid - 1);
        return Error(Reason::AlreadyExists, "an agent already runs with --data " + data + " (process " + pid + "); end it first");
    }
    const std::string pid = std::to_string(::getpid());
    (void)!::ftruncate(fd, 0);
    (void)!::write(fd, pid.data(), pid.size());
    return lock;
}

AgentLock::~AgentLock() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace porthole::node_join
