#pragma once
#include <optional>

#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace porthole {

/// Runs `task` to its end on the calling thread, which acts as the loop's thread until then.
template <class T>
Result<T> run_task(AsioLoop& loop, Task<T> task) {
    TaskContext context(loop);
    std::optional<Result<T>> result;
    start_task(std::move(task), context, [&](Result<T> value) {
        result.emplace(std::move(value));
        loop.stop();
    });
    while (!result) loop.run();
    return *std::move(result);
}

}  // namespace porthole
