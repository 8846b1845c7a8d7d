#pragma once
#include <optional>

#include "runtime/task.h"

namespace porthole::kubelet {

/// Lets a task be ended by somebody else without ending the task that awaits it.
class Interrupt {
public:
    /// Runs `task` until its end or until trigger(): then it yields Reason::Cancelled.
    template <class T>
    Task<T> run(Task<T> task) {
        Running<T> operation(*this, std::move(task));
        co_return co_await operation;
    }
    /// Ends what run() is running now; nothing otherwise.
    void trigger() {
        if (current_) current_->cancel();
    }

private:
    template <class T>
    class Running final : public Operation<T> {
    public:
        Running(Interrupt& owner, Task<T> task) : owner_(owner), task_(std::move(task)) {}

    private:
        void start() override {
            child_.emplace(this->loop());
            owner_.current_ = &*child_;
            start_task(std::move(task_), *child_, [this](Result<T> result) {
                owner_.current_ = nullptr;
                this->complete_later(std::move(result));
            });
        }
        void cancel() override { child_->cancel(); }

        Interrupt& owner_;
        Task<T> task_;
        std::optional<TaskContext> child_;
    };

    TaskContext* current_ = nullptr;
};

}  // namespace porthole::kubelet
