#pragma once
#include <deque>
#include <map>
#include <optional>

#include "runtime/sim/sim_loop.h"
#include "runtime/worker_pool.h"

namespace porthole::simulation {

/// The loop of one process of a simulation: it can be stopped as by SIGSTOP, and its machine's wall clock can be wrong. Monotonic time is
/// the simulation's. It outlives what was ever registered here; `host` outlives it.
class ProcessLoop final : public EventLoop {
public:
    explicit ProcessLoop(sim::SimLoop& host) : host_(host) {}

    void post(Callback callback) override;
    TimerId call_at(MonotonicTime when, Callback callback) override;
    void cancel_timer(TimerId timer) override;
    MonotonicTime now() const override { return host_.now(); }
    SystemTime wall_now() const override;

    /// Nothing runs until resume(); then what was due meanwhile, in order.
    void pause() { paused_ = true; }
    void resume();
    bool paused() const { return paused_; }
    void set_wall_offset(Duration offset) { wall_offset_ = offset; }
    /// Timers that are armed: none once the process has ended.
    std::size_t timers() const { return timers_.size(); }
    /// How often something had to wait, or was told a wrong time.
    std::size_t met() const { return met_; }

private:
    struct Due {
        std::uint64_t timer;  // 0: none
        Callback callback;
    };
    void run(std::uint64_t timer, Callback callback);

    sim::SimLoop& host_;
    std::map<std::uint64_t, TimerId> timers_;
    std::deque<Due> due_;
    std::uint64_t last_ = 0;
    Duration wall_offset_{};
    mutable std::size_t met_ = 0;
    bool paused_ = false;
};

/// Work of the process, at its loop's next turn.
class ProcessPool final : public WorkerPool {
public:
    explicit ProcessPool(ProcessLoop& loop) : loop_(loop) {}
    void submit(Callback work) override { loop_.post(std::move(work)); }

private:
    ProcessLoop& loop_;
};

/// Runs a task of the process to its end, while the simulation goes on. Error: Timeout after `limit`.
template <class T>
Result<T> run_in(sim::SimLoop& host, EventLoop& process, Task<T> task, Duration limit = std::chrono::minutes(5)) {
    TaskContext context(process);
    std::optional<Result<T>> result;
    start_task(std::move(task), context, [&](Result<T> value) { result.emplace(std::move(value)); });
    if (!host.run_until([&] { return result.has_value(); }, limit)) {
        context.cancel();
        CHECK(host.run_until([&] { return result.has_value(); }, limit));
        return Error(Reason::Timeout, "the task did not end in time");
    }
    return std::move(*result);
}

}  // namespace porthole::simulation
