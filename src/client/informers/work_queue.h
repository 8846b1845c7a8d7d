#pragma once
#include <deque>
#include <map>
#include <set>

#include "client/client.h"
#include "runtime/sync.h"

namespace porthole::client {

/// Keys that wait to be reconciled: each at most once, and never with two workers on the same key. Lives on one loop; not thread-safe.
///
/// A key that is added while a worker has it is queued again when the worker calls done(). A key that failed n times in a row returns after
/// 5 ms · 2ⁿ (at most 1000 s), and all retries together are limited to 10 per second after a burst of 100. Invariant: a key is in at most
/// one of "queued" and "with a worker".
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

    /// Queues the key immediately, even if it also waits for a later time.
    void add(const NamespacedName& key);
    /// If the key is already waiting, the earlier time counts.
    void add_after(const NamespacedName& key, Duration delay);
    /// After a failure: returns the key after the delay above.
    void add_rate_limited(const NamespacedName& key);
    /// Call after a success: the key's next failure starts with the shortest delay.
    void forget(const NamespacedName& key);
    /// How often the key has been added rate-limited since it was last forgotten.
    int retries(const NamespacedName& key) const;

    /// Waits for a key and passes it to the caller, who must call done() with it, also after a failure. Error: Cancelled.
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
