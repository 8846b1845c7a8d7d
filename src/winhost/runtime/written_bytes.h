#pragma once  // private to this folder
#include <cstdint>
#include <map>
#include <string>

#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/sync.h"
#include "runtime/worker_pool.h"

namespace porthole::winhost {

/// How much containers have written over their images. A worker looks, since there may be millions of files, and not at every question.
class WrittenBytes {
public:
    WrittenBytes(EventLoop& loop, FileSystem& files, WorkerPool& pool) : loop_(loop), files_(files), pool_(pool), one_at_a_time_(1) {}

    /// Looks into those folders, by container, that were last looked at more than 10 s ago, and forgets all other containers.
    Task<> look(std::map<std::string, std::string> folders);
    /// As of the last look(); 0 before the first.
    std::uint64_t of(const std::string& container) const;

private:
    struct Seen {
        std::uint64_t bytes = 0;
        MonotonicTime at;
    };
    EventLoop& loop_;
    FileSystem& files_;
    WorkerPool& pool_;
    Semaphore one_at_a_time_;
    std::map<std::string, Seen> seen_;  ///< by container
};

}  // namespace porthole::winhost
