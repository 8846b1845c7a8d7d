#pragma once
#include <memory>

#include "runtime/event_loop.h"

namespace boost::asio {
class io_context;
}

namespace porthole {

/// The real event loop, on Boost.Asio. Sockets use context(). Everything that uses the loop must be destroyed before it; callbacks that
/// never ran are destroyed with it.
class AsioLoop final : public EventLoop {
public:
    AsioLoop();
    ~AsioLoop() override;

    void post(Callback callback) override;
    TimerId call_at(MonotonicTime when, Callback callback) override;
    void cancel_timer(TimerId timer) override;
    MonotonicTime now() const override;
    SystemTime wall_now() const override;

    /// Runs until stop(), on the calling thread, which is the loop's thread until then. May be called again after a stop().
    void run();
    /// From any thread. run() returns after the current callback; a stop() before run() has no effect.
    void stop();
    /// Calls `handler` on the loop for SIGINT and SIGTERM, each time. A second call replaces the handler.
    void on_signal(std::function<void(int signal)> handler);
    /// Calls `handler` on the loop for SIGHUP, each time; without it the signal ends the process. Never on Windows. Call it once.
    void on_hangup(std::function<void()> handler);
    boost::asio::io_context& context();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole
