#pragma once
#include <map>
#include <string>

#include "runtime/event_loop.h"

namespace porthole::kubelet {

/// Delays that double with every failure of the same key: 10 s, 20 s, … up to 300 s. Entries that were left alone for twice the
/// longest delay start over.
class Backoff {
public:
    explicit Backoff(Duration first = std::chrono::seconds(10), Duration longest = std::chrono::seconds(300))
        : first_(first), longest_(longest) {}

    /// The delay now in force for `key`; zero before the first failure.
    Duration delay(const std::string& key) const;
    /// Whether less than the delay has passed since `since`, the moment of the last failure.
    bool is_waiting(const std::string& key, MonotonicTime since, MonotonicTime now) const;
    /// Counts a failure, or the start of the next try, at `now`.
    void next(const std::string& key, MonotonicTime now);
    void forget(const std::string& key) { entries_.erase(key); }
    /// Forgets all keys that begin with `prefix`.
    void forget_prefix(const std::string& prefix);

private:
    struct Entry {
        Duration delay;
        MonotonicTime updated;
    };
    bool is_stale(const Entry& entry, MonotonicTime now) const { return now - entry.updated > 2 * longest_; }

    Duration first_, longest_;
    std::map<std::string, Entry> entries_;
};

}  // namespace porthole::kubelet
