#include "runtime/component_thread.h"

#include <thread>

#include "runtime/run_on.h"

namespace porthole {

struct ComponentThread::Impl {
    AsioLoop loop;
    std::thread thread{[this] { loop.run(); }};
};

ComponentThread::ComponentThread() : impl_(std::make_unique<Impl>()) {}

ComponentThread::~ComponentThread() {
    // By the loop itself: a stop() before the thread has come to run() would be forgotten.
    impl_->loop.post([this] { impl_->loop.stop(); });
    impl_->thread.join();
}

AsioLoop& ComponentThread::loop() { return impl_->loop; }

Task<> ComponentThread::run(std::function<Task<>()> task) {
    using Run = RemoteOperation<void>;
    Run run(Run::ToItsEnd{}, impl_->loop, std::move(task));
    co_return co_await run;
}

}  // namespace porthole
