#include "simulation/three_servers/process_loop.h"

#include <algorithm>

namespace porthole::simulation {

void ProcessLoop::run(std::uint64_t timer, Callback callback) {
    if (paused_) {
        ++met_;
        due_.push_back({timer, std::move(callback)});
    } else {
        callback();
    }
}

SystemTime ProcessLoop::wall_now() const {
    if (wall_offset_ != Duration()) ++met_;
    return host_.wall_now() + wall_offset_;
}

void ProcessLoop::post(Callback callback) {
    host_.post([this, callback = std::move(callback)]() mutable { run(0, std::move(callback)); });
}

TimerId ProcessLoop::call_at(MonotonicTime when, Callback callback) {
    const std::uint64_t number = ++last_;
    timers_[number] = host_.call_at(when, [this, number, callback = std::move(callback)]() mutable {
        timers_.erase(number);
        run(number, std::move(callback));
    });
    return TimerId(number);
}

void ProcessLoop::cancel_timer(TimerId timer) {
    const auto number = static_cast<std::uint64_t>(timer);
    if (const auto armed = timers_.extract(number)) return host_.cancel_timer(armed.mapped());
    // One that was due while the process stood still.
    std::erase_if(due_, [&](const Due& due) { return due.timer == number; });
}

void ProcessLoop::resume() {
    paused_ = false;
    // Each is taken from here only when its turn has come: one before it may cancel it.
    for (std::size_t i = due_.size(); i > 0; --i) {
        host_.post([this] {
            if (due_.empty()) return;
            Due due = std::move(due_.front());
            due_.pop_front();
            run(due.timer, std::move(due.callback));
        });
    }
}

}  // namespace porthole::simulation
