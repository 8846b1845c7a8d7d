#pragma once
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/event_loop.h"
#include "scheduler/cycle.h"

namespace porthole::scheduler {

/// Pods that wait for a node. Lives on the scheduler's loop; `clock` and `plugins` must outlive it.
///
/// A pod is *active* (to be tried, highest priority first, then oldest), *in back-off* after a failed attempt (by default 1 s, doubling to
/// 10 s),
/// *unschedulable* until an event that one of the plugins that rejected it finds helpful (or 5 minutes pass), *gated* while it has
/// scheduling gates or ResourceClaims that do not exist yet, or *in flight* between pop() and done() or retry. When nothing is active, pods
/// in back-off after a rejection are returned early.
class SchedulingQueue {
public:
    struct Backoff {
        Duration initial = std::chrono::seconds(1), longest = std::chrono::seconds(10);
    };
    SchedulingQueue(const Clock& clock, const PluginList& plugins) : SchedulingQueue(clock, plugins, Backoff()) {}
    SchedulingQueue(const Clock& clock, const PluginList& plugins, Backoff backoff)
        : clock_(clock), plugins_(plugins), backoff_times_(backoff) {}
    SchedulingQueue(const SchedulingQueue&) = delete;

    /// A pending pod appeared or changed. A change that placement cannot see leaves it where it is.
    void set(PodRef pod);
    /// The pod was deleted, or has a node. Harmless for an unknown pod.
    void remove(const std::string& uid);
    bool contains(const std::string& uid) const { return entries_.contains(uid); }
    /// Whether the pod is still what pop() returned: neither removed nor put back since.
    bool is_in_flight(const std::string& uid) { return find_in_flight(uid) != nullptr; }

    /// The next pod to try, now in flight; nullptr if there is none at this time.
    PodRef pop();
    /// No node fits: waits for an event that helps, or, if one may have come since pop(), only for the end of the back-off. Ignored if the
    /// pod is not in flight.
    void retry_after_rejection(const std::string& uid, PluginSet rejected_by, bool event_may_have_come = false);
    /// The attempt failed for an internal reason (such as a failed bind): back-off, then retry. Ignored if the pod is not in flight.
    void retry_after_error(const std::string& uid);

    void on_event(const ClusterEvent& event);
    /// Moves pods that have waited long enough. Returns next_flush().
    std::optional<MonotonicTime> flush();
    /// When to call flush(), which may be now; nullopt if no pod waits for a time.
    std::optional<MonotonicTime> next_flush() const;

    struct Sizes {
        std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0;
    };
    Sizes sizes() const;

private:
    enum class Place : std::uint8_t { Active, Backoff, Unschedulable, Gated, InFlight };
    struct Entry {
        PodRef pod;
        Place place = Place::Gated;
        int attempts = 0;
        bool failed_by_error = false;
        PluginSet rejected_by = 0;
        std::uint64_t sequence = 0;   // of entering the queue
        MonotonicTime ready, parked;  // end of back-off; start of waiting as unschedulable
        bool event_while_in_flight = false;
    };
    struct ActiveKey {
        std::int32_t priority;
        std::uint64_t sequence;
        std::string uid;
        bool operator<(const ActiveKey& other) const {
            if (priority != other.priority) return priority > other.priority;
            return sequence < other.sequence;
        }
    };
    using TimeKey = std::pair<MonotonicTime, std::string>;

    Entry* find_in_flight(const std::string& uid);
    void put(Entry& entry, Place place);
    void take(Entry& entry);
    void wake(Entry& entry);
    Duration backoff_of(const Entry& entry) const;
    ActiveKey active_key(const Entry& entry) const;

    const Clock& clock_;
    const PluginList& plugins_;
    const Backoff backoff_times_;
    std::unordered_map<std::string, Entry> entries_;
    std::set<ActiveKey> active_;
    std::set<TimeKey> backoff_;
    std::set<TimeKey> unschedulable_;  // by start of waiting
    std::size_t gated_ = 0;
    std::uint64_t next_sequence_ = 1;
};

}  // namespace porthole::scheduler
