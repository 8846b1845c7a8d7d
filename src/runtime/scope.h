#pragma once
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "runtime/sync.h"
#include "runtime/task.h"

namespace porthole {

/// Owns running tasks. Every task of the program belongs to a scope; closing the scope cancels them and waits for their end. Used on its
/// loop only.
///
/// The owner closes the scope before destroying it: a scope destroyed with running tasks aborts the process.
class Scope {
public:
    /// Called with the error of a task that failed for another reason than cancellation; ignored if empty.
    using ErrorHandler = std::function<void(const Error&)>;

    explicit Scope(EventLoop& loop, ErrorHandler on_error = {}) : loop_(loop), on_error_(std::move(on_error)) {}
    Scope(const Scope&) = delete;
    ~Scope() { CHECK(tasks_.empty()); }

    EventLoop& loop() const { return loop_; }
    /// Starts `task` at the loop's next turn. In a cancelled scope the task's first suspension fails.
    void spawn(Task<> task);
    /// Cancels every task, and all that are spawned later; does not wait.
    void cancel();
    /// Cancels all tasks and waits until the last has ended, even if the caller itself is cancelled.
    Task<> close();
    bool empty() const { return tasks_.empty(); }

private:
    struct Running {
        explicit Running(EventLoop& loop) : context(loop) {}
        TaskContext context;
    };
    using Position = std::list<Running>::iterator;
    class Closing;

    void finished(Position position, Result<void> result);

    EventLoop& loop_;
    ErrorHandler on_error_;
    std::list<Running> tasks_;
    Closing* closing_ = nullptr;
    bool cancelled_ = false;
};

/// Runs all tasks concurrently and returns their results in the same order, including failures: a failure does not stop the others.
/// Cancelling the caller cancels all of them.
template <class T>
class AllOperation final : public Operation<std::vector<Result<T>>> {
public:
    explicit AllOperation(std::vector<Task<T>> tasks) : tasks_(std::move(tasks)), results_(tasks_.size()) {}

private:
    void start() override {
        open_ = tasks_.size() + 1;
        for (std::size_t i = 0; i < tasks_.size(); ++i) contexts_.emplace_back(this->loop());
        std::size_t index = 0;
        for (TaskContext& context : contexts_) {
            const std::size_t i = index++;
            start_task(std::move(tasks_[i]), context, [this, i](Result<T> result) {
                results_[i].emplace(std::move(result));
                one_done();
            });
        }
        one_done();
    }
    void cancel() override {
        for (TaskContext& context : contexts_) context.cancel();
    }
    void one_done() {
        if (--open_ > 0) return;
        std::vector<Result<T>> results;
        for (auto& result : results_) results.push_back(std::move(*result));
        this->complete_later(std::move(results));
    }

    std::vector<Task<T>> tasks_;
    std::list<TaskContext> contexts_;
    std::vector<std::optional<Result<T>>> results_;
    std::size_t open_ = 0;
};

template <class T>
Task<std::vector<Result<T>>> when_all(std::vector<Task<T>> tasks) {
    AllOperation<T> operation(std::move(tasks));
    co_return co_await operation;
}

}  // namespace porthole
