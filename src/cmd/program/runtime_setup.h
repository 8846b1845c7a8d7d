#pragma once
#include <memory>

#include "runtime/processes/process.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"
#include "runtime/worker_pool.h"

namespace porthole::cmd {

/// Owns what every command needs: a loop, workers and a process runner. Everything that uses it must end before it.
struct RealWorld {
    AsioLoop loop;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(16);
    std::unique_ptr<ProcessRunner> processes = make_process_runner(*pool);

    /// Runs `task` to its end on the calling thread.
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }
};

/// Prints "porthole: <message>" on standard error and returns the exit code for a failed command.
int fail(const std::string& message);

}  // namespace porthole::cmd
