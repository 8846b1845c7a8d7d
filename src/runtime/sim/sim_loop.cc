#include "runtime/sim/sim_loop.h"

#include <algorithm>
#include <utility>

namespace porthole::sim {

void SimLoop::post(Callback callback) { call_at(now_, std::move(callback)); }

TimerId SimLoop::call_at(MonotonicTime when, Callback callback) {
    const std::uint64_t id = next_++;
    if (when <= now_) {
        due_.push_back({id, std::move(callback)});
    } else {
        timers_.emplace(Key(when, id), std::move(callback));
        times_.emplace(id, when);
    }
    return TimerId{id};
}

void SimLoop::cancel_timer(TimerId timer) {
    const auto id = static_cast<std::uint64_t>(timer);
    if (const auto found = times_.find(id); found != times_.end()) {
        timers_.erase(Key(found->second, id));
        times_.erase(found);
        return;
    }
    const auto due = std::ranges::lower_bound(due_, id, {}, &Due::id);
    if (due == due_.end() || due->id != id) return;
    const Callback cancelled = std::exchange(due->callback, nullptr);
}

SystemTime SimLoop::wall_now() const {
    constexpr SystemTime Start{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
    return Start + now_.time_since_epoch();
}

/// False when nothing is left to do at the present moment.
bool SimLoop::run_next() {
    if (!timers_.empty() && timers_.begin()->first.first <= now_) {
        auto first = timers_.extract(timers_.begin());
        times_.erase(first.key().second);
        first.mapped()();
        return true;
    }
    while (!due_.empty()) {
        Callback next = std::move(due_.front().callback);
        due_.pop_front();
        if (!next) continue;
        next();
        return true;
    }
    return false;
}

void SimLoop::run_ready() {
    while (run_next()) {
    }
}

void SimLoop::advance(Duration duration) {
    const MonotonicTime end = now_ + duration;
    run_ready();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
        now_ = timers_.begin()->first.first;
        run_ready();
    }
    now_ = end;
}

bool SimLoop::run_until(const std::function<bool()>& done, Duration limit) {
    const MonotonicTime end = now_ + limit;
    while (!done()) {
        if (run_next()) continue;
        if (timers_.empty() || timers_.begin()->first.first > end) return false;
        now_ = timers_.begin()->first.first;
        run_next();
    }
    return true;
}

}  // namespace porthole::sim
