#pragma once
#include "runtime/event_loop.h"

namespace porthole {

/// Measures turns: goes on while a request is handled, which the loop's clock does not.
struct WorkClock final : Clock {
    MonotonicTime now() const override { return time; }
    SystemTime wall_now() const override { return {}; }
    MonotonicTime time{std::chrono::hours(1)};
};

}  // namespace porthole
