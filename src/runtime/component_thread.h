#pragma once
#include <functional>
#include <memory>
#include <string>

#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace porthole {

/// A loop on a thread of its own, for a component that should not hold up the API.
class ComponentThread {
public:
    ComponentThread();
    /// Ends the loop and joins the thread. What lives on the loop must have ended.
    ~ComponentThread();

    AsioLoop& loop();
    /// Runs `task` on the thread's loop, waiting on the caller's.
    Task<> run(std::function<Task<>()> task);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole
