#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "runtime/asio_loop.h"
#include "runtime/processes/process.h"
#include "runtime/worker_pool.h"

namespace porthole {

/// Runs commands to their end, or until `cancel_after`. For tests.
struct ProcessFixture : testing::Test {
    Result<CommandOutput> run(Command command) {
        std::optional<Result<CommandOutput>> result;
        TaskContext context(loop);
        loop.post([&] {
            start_task(runner->run(std::move(command)), context, [&](Result<CommandOutput> value) {
                result.emplace(std::move(value));
                loop.stop();
            });
        });
        if (cancel_after > Duration()) loop.call_after(cancel_after, [&] { context.cancel(); });
        loop.run();
        return std::move(*result);
    }
    AsioLoop loop;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(2);
    std::unique_ptr<ProcessRunner> runner = make_process_runner(*pool);
    Duration cancel_after{};
};

}  // namespace porthole
