#pragma once
#include <optional>

#include "runtime/task.h"

namespace porthole {

/// Runs two tasks until the first of them ends, and returns its result; the other is cancelled and awaited. Cancelling the caller cancels
/// both.
class FirstOfOperation final : public Operation<void> {
public:
    FirstOfOperation(Task<> a, Task<> b) : tasks_{std::move(a), std::move(b)} {}

private:
    void start() override {
        for (auto& context : contexts_) context.emplace(loop());
        for (int i = 0; i < 2; ++i)
            start_task(std::move(tasks_[i]), *contexts_[i], [this, i](Result<void> result) { ended(i, std::move(result)); });
    }
    void cancel() override {
        for (auto& context : contexts_) context->cancel();
    }
    void ended(int index, Result<void> result) {
        if (!first_) {
            first_.emplace(std::move(result));
            contexts_[1 - index]->cancel();
        }
        if (++ended_ == 2) complete_later(std::move(*first_));
    }
    Task<> tasks_[2];
    std::optional<TaskContext> contexts_[2];
    std::optional<Result<void>> first_;
    int ended_ = 0;
};

inline Task<> first_of(Task<> a, Task<> b) {
    FirstOfOperation operation(std::move(a), std::move(b));
    co_return co_await operation;
}

}  // namespace porthole
