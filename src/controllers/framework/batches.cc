#include "controllers/framework/batches.h"

#include <algorithm>
#include <iterator>

#include "runtime/scope.h"

namespace porthole::controllers {
namespace {

// Enough for the store to write many requests in one go. A request in flight takes kilobytes of frames, and thousands of them leave holes
// between the objects that stay.
constexpr int LargestBatch = 64;

}  // namespace

Task<> perform_all(std::vector<Task<>> tasks) {
    Result<void> outcome;
    for (auto next = tasks.begin(); next != tasks.end();) {
        const auto end = next + std::min<std::ptrdiff_t>(LargestBatch, tasks.end() - next);
        CO_TRY(const auto results, co_await when_all(std::vector<Task<>>(std::move_iterator(next), std::move_iterator(end))));
        for (const Result<void>& result : results)
            if (!result && outcome) outcome = result.error();
        next = end;
    }
    co_return outcome;
}

Task<SlowStart> slow_start(int count, int first, std::function<Task<>(int)> step) {
    SlowStart outcome;
    for (int done = 0, batch = first; done < count; batch = std::min(2 * batch, LargestBatch)) {
        const int size = std::min(batch, count - done);
        std::vector<Task<>> tasks;
        for (int i = 0; i < size; ++i) tasks.push_back(step(done + i));
        CO_TRY(const auto results, co_await when_all(std::move(tasks)));
        for (const Result<void>& result : results) {
            if (result)
                ++outcome.succeeded;
            else if (!outcome.error)
                outcome.error = result.error();
        }
        if (outcome.error) break;
        done += size;
    }
    co_return std::move(outcome);
}

}  // namespace porthole::controllers
