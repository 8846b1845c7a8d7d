#pragma once
#include <memory>

#include "runtime/task.h"

namespace porthole {

/// Runs blocking work (fsync, unpacking, waiting for a process). The result returns to the caller's loop. submit() may be called from any
/// thread.
class WorkerPool {
public:
    virtual ~WorkerPool() = default;
    /// Runs `work` on some worker thread; never on the caller's stack.
    virtual void submit(Callback work) = 0;
};

/// Threads are created on demand, up to `threads`, and joined by the destructor after all submitted work is done.
std::unique_ptr<WorkerPool> make_thread_pool(std::size_t threads);

/// The suspension of run_blocking().
template <class T>
class BlockingOperation final : public Operation<T> {
public:
    BlockingOperation(WorkerPool& pool, std::move_only_function<Result<T>()> work)
        : Operation<T>(typename Operation<T>::Uncancellable{}), pool_(pool), work_(std::move(work)) {}

private:
    void start() override {
        pool_.submit([this, &loop = this->loop()] {
            auto result = std::make_shared<Result<T>>(work_());
            loop.post([this, result] { this->complete(std::move(*result)); });
        });
    }
    void cancel() override {}
    WorkerPool& pool_;
    std::move_only_function<Result<T>()> work_;
};

/// Runs `work` in the pool and waits for it. Cannot be cancelled, so the work may hold references into the task; it must not use what the
/// loop changes at the same time.
template <class T>
Task<T> run_blocking(WorkerPool& pool, std::move_only_function<Result<T>()> work) {
    BlockingOperation<T> operation(pool, std::move(work));
    co_return co_await operation;
}

}  // namespace porthole
