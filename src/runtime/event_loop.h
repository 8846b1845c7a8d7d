#pragma once
#include <chrono>
#include <cstdint>
#include <functional>

namespace porthole {

using Duration = std::chrono::nanoseconds;
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using SystemTime = std::chrono::sys_time<Duration>;  ///< by the wall clock; `Timestamp` (base/time/time.h) is how the API writes it
using Callback = std::move_only_function<void()>;
enum class TimerId : std::uint64_t {};

template <class T = void>
class Task;

/// The clock seam. Production reads the machine's clocks; a simulation owns time.
class Clock {
public:
    virtual ~Clock() = default;
    virtual MonotonicTime now() const = 0;
    virtual SystemTime wall_now() const = 0;
};

/// One thread of execution with timers: every component lives on exactly one. Callbacks never run inside the call that
/// registers them, so code between two suspensions is never interrupted. The loop owns registered callbacks; what they refer to must
/// outlive them or cancel its timers.
class EventLoop : public Clock {
public:
    /// Runs `callback` at a later turn of the loop, in order of posting. The only member that other threads may call.
    virtual void post(Callback callback) = 0;
    /// Runs `callback` once, no earlier than `when`.
    virtual TimerId call_at(MonotonicTime when, Callback callback) = 0;
    /// Forgets a timer; harmless if it has fired.
    virtual void cancel_timer(TimerId timer) = 0;

    TimerId call_after(Duration delay, Callback callback) { return call_at(now() + delay, std::move(callback)); }
    /// Suspends the task for `delay` (at least one turn of the loop). Error: Cancelled.
    Task<> sleep(Duration delay);
};

}  // namespace porthole
