#pragma once
#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "runtime/event_loop.h"
#include "runtime/frame_memory.h"

namespace porthole {

/// What a task is suspended on, as needed for cancelling it.
class Suspension {
public:
    /// Must lead to the operation's completion at a later turn of the loop, never inside this call.
    virtual void cancel() = 0;

protected:
    ~Suspension() = default;
};

/// The state that a task shares with every task it awaits: its loop and whether it is cancelled. One task waits for at most one suspension
/// at a time, so one pointer is enough.
class TaskContext {
public:
    explicit TaskContext(EventLoop& loop) : loop_(loop) {}
    TaskContext(const TaskContext&) = delete;

    EventLoop& loop() const { return loop_; }
    bool cancelled() const { return cancelled_; }
    /// The task's current and every later suspension end with Reason::Cancelled.
    void cancel() {
        if (cancelled_) return;
        cancelled_ = true;
        if (waiting_) waiting_->cancel();
    }
    void set_waiting(Suspension* suspension) { waiting_ = suspension; }

private:
    EventLoop& loop_;
    Suspension* waiting_ = nullptr;
    bool cancelled_ = false;
};

inline Error cancelled_error() { return Error(Reason::Cancelled, "cancelled"); }

namespace detail {

/// A promise whose coroutine frame is allocated from the frame pool.
struct PooledFrame {
    static void* operator new(std::size_t size) { return allocate_frame(size); }
    static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }
};

/// Shared by the promises of all tasks: the context, and the coroutine to resume at the end.
struct PromiseBase : PooledFrame {
    TaskContext* context = nullptr;
    std::coroutine_handle<> continuation;

    struct FinalAwaiter {
        bool await_ready() const noexcept { return false; }
        template <class P>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) const noexcept {
            return self.promise().continuation;
        }
        void await_resume() const noexcept {}
    };
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

/// Out of line, so that the compiler does not merge the frame of an awaited task into its parent's: the parent would then contain the
/// frames of all tasks that it may ever await, which made some frames 400 kB large.
void destroy_frame(std::coroutine_handle<> frame);

}  // namespace detail

/// A coroutine that starts when awaited and yields a Result<T>. `co_await` hands control over without growing the stack.
///
/// A task inherits the loop and the cancellation of the task that awaits it; a first task is started by Scope::spawn.
/// Task<> ends with `co_return {};`. Parameters are values, or references whose owner outlives the task.
template <class T>
class [[nodiscard]] Task {
public:
    struct promise_type : detail::PromiseBase {
        std::optional<Result<T>> result;
        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        void return_value(Result<T> value) { result.emplace(std::move(value)); }
    };

    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) detail::destroy_frame(handle_);
    }

    class Awaiter {
    public:
        bool await_ready() const noexcept { return false; }
        template <class P>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) const noexcept {
            child_.promise().context = parent.promise().context;
            child_.promise().continuation = parent;
            return child_;
        }
        Result<T> await_resume() const { return std::move(*child_.promise().result); }

    private:
        friend Task;
        explicit Awaiter(std::coroutine_handle<promise_type> child) : child_(child) {}
        std::coroutine_handle<promise_type> child_;
    };
    Awaiter operator co_await() && noexcept { return Awaiter(handle_); }

private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

/// Base of everything that a task can wait for, except another task: I/O, timers, events. Lives in the awaiting coroutine.
template <class T>
class Operation : public Suspension {
public:
    Operation() = default;
    Operation(const Operation&) = delete;

    bool await_ready() const noexcept { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> task) {
        task_ = task;
        context_ = task.promise().context;
        if (cancellable_ && context_->cancelled()) {
            result_.emplace(cancelled_error());
            return false;
        }
        if (cancellable_) context_->set_waiting(this);
        starting_ = true;
        start();
        starting_ = false;
        if (!result_) return true;
        context_->set_waiting(nullptr);
        return false;
    }
    Result<T> await_resume() { return std::move(*result_); }

protected:
    enum class Uncancellable {};
    explicit Operation(Uncancellable) : cancellable_(false) {}
    ~Operation() = default;

    /// Begins; may call complete() immediately.
    virtual void start() = 0;
    EventLoop& loop() const { return context_->loop(); }
    /// Ends the wait and resumes the task before returning. Call it once, on the loop, as the last use of `this`.
    void complete(Result<T> result) {
        result_.emplace(std::move(result));
        if (starting_) return;
        context_->set_waiting(nullptr);
        task_.resume();
    }
    /// The same at a later turn of the loop: for callers that must not be re-entered.
    void complete_later(Result<T> result) {
        loop().post([this, result = std::move(result)]() mutable { complete(std::move(result)); });
    }

private:
    std::coroutine_handle<> task_;
    TaskContext* context_ = nullptr;
    std::optional<Result<T>> result_;
    bool cancellable_ = true;
    bool starting_ = false;
};

namespace detail {

/// The coroutine of start_task(): it starts immediately and owns itself.
struct RootTask {
    struct promise_type : PooledFrame {
        TaskContext* context;
        template <class T, class F>
        promise_type(Task<T>&, TaskContext& context, F&) : context(&context) {}
        RootTask get_return_object() const { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    };
};

}  // namespace detail

/// Starts `task` immediately under `context`, which must outlive it; `done` receives the result.
template <class T, class F>
detail::RootTask start_task(Task<T> task, TaskContext& context, F done) {
    Result<T> result = co_await std::move(task);
    done(std::move(result));
}

/// Runs a task under its own cancellation, limited by `limit`. Error: Timeout; otherwise the task's result.
template <class T>
class TimeoutOperation final : public Operation<T> {
public:
    TimeoutOperation(Task<T> task, Duration limit, const char* what) : task_(std::move(task)), limit_(limit), what_(what) {}

private:
    void start() override {
        child_.emplace(this->loop());
        timer_ = this->loop().call_after(limit_, [this] {
            timed_out_ = true;
            child_->cancel();
        });
        start_task(std::move(task_), *child_, [this](Result<T> result) { finish(std::move(result)); });
    }
    void cancel() override { child_->cancel(); }
    void finish(Result<T> result) {
        if (!timed_out_) this->loop().cancel_timer(timer_);
        if (timed_out_ && !result && result.error().reason == Reason::Cancelled) {
            result = Error(Reason::Timeout, std::string("timed out: ") + what_);
        }
        this->complete_later(std::move(result));
    }

    Task<T> task_;
    Duration limit_;
    const char* what_;
    std::optional<TaskContext> child_;
    TimerId timer_{};
    bool timed_out_ = false;
};

/// `what` completes the message "timed out: ..." and must outlive the call.
template <class T>
Task<T> with_timeout(Task<T> task, Duration limit, const char* what) {
    TimeoutOperation<T> operation(std::move(task), limit, what);
    co_return co_await operation;
}

}  // namespace porthole
