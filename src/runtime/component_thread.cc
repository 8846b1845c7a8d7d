#include "runtime/component_thread.h"

#include <thread>

namespace porthole {

struct ComponentThread::Impl {
    AsioLoop loop;
    std::thread thread{[this] { loop.run(); }};
};

namespace {

/// A task on another loop, and its result back on ours. Uncancellable: the other side may hold references to us.
class RemoteRun final : public Operation<void> {
public:
    RemoteRun(EventLoop& remote, std::function<Task<>()> make) : Operation(Uncancellable{}), remote_(remote), make_(std::move(make)) {}

private:
    void start() override {
        EventLoop& home = loop();
        remote_.post([this, &home] {
            context_ = std::make_unique<TaskContext>(remote_);
            start_task(make_(), *context_, [this, &home](Result<void> result) {
                home.post([this, result = std::move(result)]() mutable { complete(std::move(result)); });
            });
        });
    }
    void cancel() override {}
    EventLoop& remote_;
    std::function<Task<>()> make_;
    std::unique_ptr<TaskContext> context_;
};

}  // namespace

ComponentThread::ComponentThread() : impl_(std::make_unique<Impl>()) {}

ComponentThread::~ComponentThread() {
    // By the loop itself: a stop() before the thread has come to run() would be forgotten.
    impl_->loop.post([this] { impl_->loop.stop(); });
    impl_->thread.join();
}

AsioLoop& ComponentThread::loop() { return impl_->loop; }

Task<> ComponentThread::run(std::function<Task<>()> task) {
    RemoteRun run(impl_->loop, std::move(task));
    co_return co_await run;
}

}  // namespace porthole
