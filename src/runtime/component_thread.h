#pragma once
#include <functional>
#include <memory>
#include <string>

#include "runtime/asio_loop.h"
#include "runtime/task.h"

namespace porthole {

/// Owns a loop and the thread that runs it, for a component that should not delay the API. Used from the thread that created it; objects on
/// loop() must only be used there.
class ComponentThread {
public:
    ComponentThread();
    /// Ends the loop and joins the thread. Everything on the loop must have ended.
    ~ComponentThread();

    AsioLoop& loop();
    /// Calls `task` on the thread's loop and runs the result there, while the caller's task waits on its own loop. Cannot be cancelled, so
    /// references into the caller are safe.
    Task<> run(std::function<Task<>()> task);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole
