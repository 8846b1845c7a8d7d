#include "runtime/task.h"

namespace porthole {
namespace detail {

void destroy_frame(std::coroutine_handle<> frame) { frame.destroy(); }

}  // namespace detail

namespace {

class Sleep final : public Operation<void> {
public:
    explicit Sleep(Duration delay) : delay_(delay) {}

private:
    void start() override {
        timer_ = loop().call_after(delay_, [this] {
            fired_ = true;
            complete({});
        });
    }
    void cancel() override {
        if (fired_) return;
        fired_ = true;
        loop().cancel_timer(timer_);
        complete_later(cancelled_error());
    }
    Duration delay_;
    TimerId timer_{};
    bool fired_ = false;
};

}  // namespace

Task<> EventLoop::sleep(Duration delay) {
    Sleep sleep(delay);
    co_return co_await sleep;
}

}  // namespace porthole
