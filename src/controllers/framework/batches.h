#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "runtime/task.h"

namespace porthole::controllers {

/// Awaits all tasks, at most 64 at a time. Error: of the first that failed; the others are done nevertheless.
Task<> perform_all(std::vector<Task<>> tasks);

/// The result of slow_start().
struct SlowStart {
    int succeeded = 0;
    std::optional<Error> error;  ///< the first failure; later batches were not begun
};
/// Calls `step(i)` for i in [0, count), in batches of `first`, twice that, and so on up to 64, until a batch has a failure: its cause (a
/// quota, an admission rule) would make all fail.
Task<SlowStart> slow_start(int count, int first, std::function<Task<>(int)> step);

}  // namespace porthole::controllers
