#pragma once
#include <memory>

#include "runtime/task.h"

namespace porthole {

/// The seam to this process' memory and processor time.
class ProcessMemory {
public:
    virtual ~ProcessMemory() = default;
    /// Processor time that all threads have used so far.
    virtual Duration used_time() const = 0;
    /// Returns free pages of the heap, and the pages of code and constants, to the system: pages in use are reloaded from the system's
    /// cache, and those that only a start or a burst of work needed stay free. Blocks for some milliseconds.
    virtual void give_back() = 0;
};

/// Linux only: Windows reclaims the pages of idle processes by itself.
std::unique_ptr<ProcessMemory> make_process_memory();

/// Returns memory each time the process becomes idle (at most 4 % of one core over 5 s): after its start, and after a load. Runs until
/// cancelled; `loop` and `memory` must outlive it.
Task<> give_back_memory_at_rest(EventLoop& loop, ProcessMemory& memory);

}  // namespace porthole
