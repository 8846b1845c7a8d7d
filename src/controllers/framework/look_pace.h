#pragma once
#include <algorithm>
#include <map>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// How often a controller looks at all pods of a Service or of a set.
///
/// A look reads all of them, also where one has changed: a look after each change of a thousand pods would be a million reads. Therefore a
/// Service or set with many pods waits after a look, and the next one is for all changes of that time; the first change after a pause does
/// not wait. Looks at all of these take at most a fifth of the thread's time, so that it sees other changes in time, such as heartbeats.
/// With fewer than `Few` pods nothing waits. Lives on one loop.
class LookPace {
public:
    static constexpr std::size_t Few = 100;
    static constexpr Duration Longest = std::chrono::seconds(2);
    /// `per_pod`: the time until the next look, for each pod of this one. `loop` outlives it.
    LookPace(const EventLoop& loop, Duration per_pod) : loop_(loop), per_pod_(per_pod) {}

    /// How long the next look at what `key` names has to wait; zero or less if not at all.
    Duration wait(const client::NamespacedName& key) const {
        const auto found = next_.find(key);
        return found == next_.end() ? Duration::zero() : std::max(found->second, next_of_all_) - loop_.now();
    }
    /// After a look that began at `since` and did not suspend.
    void looked(const client::NamespacedName& key, std::size_t pods, MonotonicTime since) {
        if (pods < Few) {
            next_.erase(key);
            return;
        }
        const MonotonicTime now = loop_.now();
        next_[key] = now + std::min(Longest, per_pod_ * static_cast<std::int64_t>(pods));
        next_of_all_ = now + 4 * (now - since);
    }
    /// To be called when the object is gone.
    void forget(const client::NamespacedName& key) { next_.erase(key); }

private:
    const EventLoop& loop_;
    const Duration per_pod_;
    std::map<client::NamespacedName, MonotonicTime> next_;  // of those with many pods
    MonotonicTime next_of_all_{};
};

}  // namespace porthole::controllers
