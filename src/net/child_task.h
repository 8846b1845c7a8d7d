#pragma once
#include "runtime/sync.h"

namespace porthole::net {

/// One task that runs next to its owner with its own cancellation. The owner joins it before destroying it.
class ChildTask {
public:
    explicit ChildTask(EventLoop& loop) : loop_(loop) {}
    ChildTask(const ChildTask&) = delete;
    ~ChildTask() { CHECK(!running()); }

    /// Starts immediately. `ended` is called as the very last action and may destroy this object. Requires: !running().
    void start(Task<> task, Callback ended = {}) {
        CHECK(!running());
        context_.emplace(loop_);
        ended_ = std::move(ended);
        start_task(std::move(task), *context_, [this](Result<void> result) { finish(std::move(result)); });
    }
    void cancel() {
        if (context_) context_->cancel();
    }
    bool running() const { return context_.has_value(); }
    /// How the last run ended. Requires: !running(), after a start().
    const Result<void>& result() const { return result_; }
    /// Waits for the end, even if the caller is cancelled. One at a time.
    Task<> join() {
        Join join(*this);
        co_return co_await join;
    }

private:
    class Join final : public Operation<void> {
    public:
        explicit Join(ChildTask& child) : Operation(Uncancellable{}), child_(child) {}
        void wake() { complete_later({}); }

    private:
        void start() override {
            if (!child_.running()) return complete({});
            child_.join_ = this;
        }
        void cancel() override {}
        ChildTask& child_;
    };

    void finish(Result<void> result) {
        result_ = std::move(result);
        context_.reset();
        if (join_) std::exchange(join_, nullptr)->wake();
        if (ended_) std::exchange(ended_, {})();
    }

    EventLoop& loop_;
    std::optional<TaskContext> context_;
    Callback ended_;
    Result<void> result_;
    Join* join_ = nullptr;
};

/// A time limit: `passed` is called on the loop once the time is reached. Moving it to a later time is cheap. Destroying it disarms it.
class Deadline {
public:
    Deadline(EventLoop& loop, Callback passed) : loop_(loop), passed_(std::move(passed)) {}
    Deadline(const Deadline&) = delete;
    ~Deadline() { disarm(); }

    void set(Duration from_now) {
        when_ = loop_.now() + from_now;
        if (armed_ && when_ < armed_for_) disarm();
        if (!armed_) arm();
    }
    void clear() { when_ = MonotonicTime::max(); }

private:
    void arm() {
        armed_ = true;
        armed_for_ = when_;
        timer_ = loop_.call_at(when_, [this] { fired(); });
    }
    void disarm() {
        if (armed_) loop_.cancel_timer(timer_);
        armed_ = false;
    }
    void fired() {
        armed_ = false;
        if (when_ == MonotonicTime::max()) return;
        if (loop_.now() < when_) return arm();
        when_ = MonotonicTime::max();
        passed_();
    }

    EventLoop& loop_;
    Callback passed_;
    MonotonicTime when_ = MonotonicTime::max(), armed_for_;
    TimerId timer_{};
    bool armed_ = false;
};

}  // namespace porthole::net
