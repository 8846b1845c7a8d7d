#pragma once
#include <memory>

#include "runtime/task.h"

namespace porthole {

/// This process, as the system sees it.
class ProcessMemory {
public:
    virtual ~ProcessMemory() = default;
    /// Processor time that all threads have used so far.
    virtual Duration used_time() const = 0;
    /// Gives the heap's free pages back, and the pages of code and constants: what is in use comes back at once from the system's
    /// cache, what only a start or a burst of work needed does not. Blocks for some milliseconds.
    virtual void give_back() = 0;
};

/// Linux only: Windows takes the pages of idle processes by itself.
std::unique_ptr<ProcessMemory> make_process_memory();

/// Gives memory back each time the process comes to rest (at most 4 % of one core over 5 s): after its start, and after a load. Runs
/// until cancelled; `loop` and `memory` must outlive it.
Task<> give_back_memory_at_rest(EventLoop& loop, ProcessMemory& memory);

}  // namespace porthole
