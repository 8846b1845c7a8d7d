#pragma once
#include <deque>
#include <map>

#include "runtime/task.h"
#include "runtime/worker_pool.h"

namespace porthole::sim {

/// A deterministic loop that owns time: the clock advances only when there is nothing to run at the present time.
///
/// Posted callbacks run in order of posting, timers in order of time and then of arming. Single-threaded.
class SimLoop final : public EventLoop {
public:
    void post(Callback callback) override;
    TimerId call_at(MonotonicTime when, Callback callback) override;
    void cancel_timer(TimerId timer) override;
    MonotonicTime now() const override { return now_; }
    SystemTime wall_now() const override;

    /// Runs everything that is due now; the time does not change.
    void run_ready();
    /// Runs everything due within `duration`, moving the clock to its end.
    void advance(Duration duration);
    /// Advances from timer to timer until `done` returns true; false if `limit` passes first.
    bool run_until(const std::function<bool()>& done, Duration limit);

private:
    using Key = std::pair<MonotonicTime, std::uint64_t>;
    struct Due {
        std::uint64_t id;
        Callback callback;  // none: cancelled
    };
    bool run_next();

    std::map<Key, Callback> timers_;  // armed for what was then the future
    std::map<std::uint64_t, MonotonicTime> times_;
    std::deque<Due> due_;  // at the present moment, by id: after the timers that have come, since those were armed before
    MonotonicTime now_{std::chrono::hours(1)};
    std::uint64_t next_ = 1;
};

/// Runs `task` to its end on `loop` and yields its result; fails with Timeout if `limit` of virtual time passes first.
template <class T>
Result<T> run(SimLoop& loop, Task<T> task, Duration limit = std::chrono::hours(1)) {
    TaskContext context(loop);
    std::optional<Result<T>> result;
    start_task(std::move(task), context, [&](Result<T> value) { result.emplace(std::move(value)); });
    if (!loop.run_until([&] { return result.has_value(); }, limit)) {
        context.cancel();
        loop.run_ready();
        CHECK(result.has_value());
        return Error(Reason::Timeout, "the task did not end in time");
    }
    return std::move(*result);
}

/// Runs submitted work on the simulation's own loop, at its next turn. `loop` must outlive it.
class SimWorkerPool final : public WorkerPool {
public:
    explicit SimWorkerPool(SimLoop& loop) : loop_(loop) {}
    void submit(Callback work) override { loop_.post(std::move(work)); }

private:
    SimLoop& loop_;
};

}  // namespace porthole::sim
