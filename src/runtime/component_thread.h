#pragma once
#include <functional>
#include <memory>
#include <string>

#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace porthole {

/// Owns a loop and the thread that runs it, for a component that should not hold up the API. Used from the thread that made it; what
/// is created on loop() must only be touched there.
class ComponentThread {
public:
    ComponentThread();
    /// Ends the loop and joins the thread. What lives on the loop must have ended.
    ~ComponentThread();

    AsioLoop& loop();
    /// Calls `task` on the thread's loop and runs what it yields there, while the caller's task waits on its own loop. Cannot be
    /// cancelled, so references into the caller are safe.
    Task<> run(std::function<Task<>()> task);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole
