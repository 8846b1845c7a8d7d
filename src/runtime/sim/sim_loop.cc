#include "runtime/sim/sim_loop.h"

namespace porthole::sim {

void SimLoop::post(Callback callback) { call_at(now_, std::move(callback)); }

TimerId SimLoop::call_at(MonotonicTime when, Callback callback) {
    const std::uint64_t id = next_++;
    when = std::max(when, now_);
    queue_.emplace(Key(when, id), std::move(callback));
    times_.emplace(id, when);
    return TimerId{id};
}

void SimLoop::cancel_timer(TimerId timer) {
    const auto found = times_.find(static_cast<std::uint64_t>(timer));
    if (found == times_.end()) return;
    queue_.erase(Key(found->second, found->first));
    times_.erase(found);
}

SystemTime SimLoop::wall_now() const {
    constexpr SystemTime Start{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
    return Start + now_.time_since_epoch();
}

void SimLoop::run_ready() {
    while (!queue_.empty() && queue_.begin()->first.first <= now_) {
        auto first = queue_.extract(queue_.begin());
        times_.erase(first.key().second);
        first.mapped()();
    }
}

void SimLoop::advance(Duration duration) {
    const MonotonicTime end = now_ + duration;
    run_ready();
    while (!queue_.empty() && queue_.begin()->first.first <= end) {
        now_ = queue_.begin()->first.first;
        run_ready();
    }
    now_ = end;
}

bool SimLoop::run_until(const std::function<bool()>& done, Duration limit) {
    const MonotonicTime end = now_ + limit;
    while (!done()) {
        if (queue_.empty() || queue_.begin()->first.first > end) return false;
        now_ = queue_.begin()->first.first;
        auto first = queue_.extract(queue_.begin());
        times_.erase(first.key().second);
        first.mapped()();
    }
    return true;
}

}  // namespace porthole::sim
