#include "runtime/processes/process_memory.h"

namespace porthole {
namespace {

constexpr Duration Period = std::chrono::seconds(5);
constexpr Duration Rest = Period / 25;  ///< of processor time: 4 % of one core

}  // namespace

Task<> give_back_memory_at_rest(EventLoop& loop, ProcessMemory& memory) {
    bool worked = true;
    for (Duration before = memory.used_time();;) {
        CO_TRY_VOID(co_await loop.sleep(Period));
        const Duration now = memory.used_time();
        const bool resting = now - before <= Rest;
        if (resting && worked) memory.give_back();
        worked = !resting;
        before = memory.used_time();
    }
}

}  // namespace porthole
