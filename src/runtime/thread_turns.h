#pragma once

namespace porthole {

/// Asks the system to let the calling thread on as soon as it wakes, and for less time at a stretch: for threads that sleep
/// most of the time and are waited for. Its share of the processors stays the same. Where a system has no such wish, nothing.
void take_short_turns();

}  // namespace porthole
