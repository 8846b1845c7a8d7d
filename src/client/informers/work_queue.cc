#include "client/informers/work_queue.h"

#include <algorithm>

namespace porthole::client {

WorkQueue::WorkQueue(EventLoop& loop, RateLimit limit) : loop_(loop), limit_(limit), tokens_(limit.burst), refilled_(loop.now()) {}

WorkQueue::~WorkQueue() {
    for (const auto& [key, waiting] : waiting_) loop_.cancel_timer(waiting.timer);
}

void WorkQueue::add(const NamespacedName& key) {
    if (!dirty_.insert(key).second) return;
    if (processing_.contains(key)) return;
    queue_.push_back(key);
    if (!workers_.empty()) workers_.wake_first({});
}

void WorkQueue::add_after(const NamespacedName& key, Duration delay) {
    if (delay <= Duration::zero()) return add(key);
    const MonotonicTime when = loop_.now() + delay;
    const auto [position, inserted] = waiting_.try_emplace(key);
    if (!inserted) {
        if (position->second.when <= when) return;
        loop_.cancel_timer(position->second.timer);
    }
    position->second = {when, loop_.call_at(when, [this, key] {
                            waiting_.erase(key);
                            add(key);
                        })};
}

void WorkQueue::add_rate_limited(const NamespacedName& key) {
    const int failures = failures_[key]++;
    const Duration own = failures >= 40 ? limit_.longest : std::min(limit_.longest, limit_.first * (std::int64_t{1} << failures));
    add_after(key, std::max(own, bucket_delay()));
}

Duration WorkQueue::bucket_delay() {
    const double passed = std::chrono::duration<double>(loop_.now() - refilled_).count();
    refilled_ = loop_.now();
    tokens_ = std::min(limit_.burst, tokens_ + passed * limit_.per_second) - 1;
    if (tokens_ >= 0) return Duration::zero();
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / limit_.per_second));
}

void WorkQueue::forget(const NamespacedName& key) { failures_.erase(key); }

int WorkQueue::retries(const NamespacedName& key) const {
    const auto found = failures_.find(key);
    return found == failures_.end() ? 0 : found->second;
}

Task<NamespacedName> WorkQueue::next() {
    while (queue_.empty()) CO_TRY_VOID(co_await workers_.wait());
    NamespacedName key = std::move(queue_.front());
    queue_.pop_front();
    dirty_.erase(key);
    processing_.insert(key);
    co_return std::move(key);
}

void WorkQueue::done(const NamespacedName& key) {
    processing_.erase(key);
    if (!dirty_.contains(key)) return;
    queue_.push_back(key);
    if (!workers_.empty()) workers_.wake_first({});
}

}  // namespace porthole::client
