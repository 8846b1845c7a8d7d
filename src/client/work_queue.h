#pragma once
#include <deque>
#include <map>
#include <set>

#include "client/client.h"
#include "runtime/sync.h"

namespace porthole::client {

/// Keys that wait to be reconciled: each at most once, and never two workers on the same key.
///
/// A key added while it is being worked on is queued again when the worker is done with it. Keys that failed come back after
/// 5 ms · 2ⁿ (at most 1000 s), and all together no faster than 10 a second once a burst of 100 is used up.
class WorkQueue {
public:
    struct RateLimit {
        Duration first = std::chrono::milliseconds(5);
        Duration longest = std::chrono::seconds(1000);
        double per_second = 10;
        double burst = 100;
    };

    explicit WorkQueue(EventLoop& loop) : WorkQueue(loop, RateLimit()) {}
    WorkQueue(EventLoop& loop, RateLimit limit);
    WorkQueue(const WorkQueue&) = delete;
    ~WorkQueue();

    void add(const NamespacedName& key);
    /// Of several waits for one key the shortest counts.
    void add_after(const NamespacedName& key, Duration delay);
    void add_rate_limited(const NamespacedName& key);
    /// The key has succeeded: its next failure starts at the shortest delay again.
    void forget(const NamespacedName& key);
    /// How often the key has been added rate-limited since it was last forgotten.
    int retries(const NamespacedName& key) const;

    /// The next key; the caller calls done() when it has dealt with it.
    Task<NamespacedName> next();
    void done(const NamespacedName& key);

    std::size_t size() const { return queue_.size(); }
    /// No key is queued or worked on (some may wait for their time).
    bool idle() const { return queue_.empty() && processing_.empty(); }

private:
    struct Waiting {
        MonotonicTime when;
        TimerId timer;
    };
    Duration bucket_delay();

    EventLoop& loop_;
    RateLimit limit_;
    std::deque<NamespacedName> queue_;
    std::set<NamespacedName> dirty_, processing_;
    std::map<NamespacedName, Waiting> waiting_;
    std::map<NamespacedName, int> failures_;
    double tokens_;
    MonotonicTime refilled_;
    WaitList<void> workers_;
};

}  // namespace porthole::client
