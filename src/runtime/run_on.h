#pragma once
#include <memory>

#include "runtime/task.h"

namespace porthole {

/// The suspension of run_on().
template <class T>
class RemoteOperation final : public Operation<T> {
public:
    using Make = std::move_only_function<Task<T>()>;

    RemoteOperation(EventLoop& remote, Make make) : remote_(remote), run_(std::make_shared<Run>(remote, std::move(make))) {}
    /// Awaited until the task itself ends, even if the caller is cancelled.
    struct ToItsEnd {};
    RemoteOperation(ToItsEnd, EventLoop& remote, Make make)
        : Operation<T>(typename Operation<T>::Uncancellable{}), remote_(remote), run_(std::make_shared<Run>(remote, std::move(make))) {}

private:
    /// Used on the remote loop only, once the operation has begun.
    struct Run {
        Run(EventLoop& loop, Make make) : context(loop), make(std::move(make)) {}
        TaskContext context;
        Make make;
    };

    void start() override {
        remote_.post([this, run = run_, &home = this->loop()] {
            start_task(run->make(), run->context, [this, run, &home](Result<T> result) {
                run->make = {};  // its captures may belong to this loop
                home.post([this, result = std::move(result)]() mutable { this->complete(std::move(result)); });
            });
        });
    }
    void cancel() override {
        remote_.post([run = run_] { run->context.cancel(); });
    }

    EventLoop& remote_;
    std::shared_ptr<Run> run_;
};

/// Calls `make` on another loop, runs the returned task there, and passes the result back to the caller's loop. Cancelling the caller
/// cancels the task there; either way the caller waits for its end, so that the task may use what the caller owns, provided that the caller
/// does not change it.
template <class T>
Task<T> run_on(EventLoop& remote, typename RemoteOperation<T>::Make make) {
    RemoteOperation<T> operation(remote, std::move(make));
    co_return co_await operation;
}

}  // namespace porthole
