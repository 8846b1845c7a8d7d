#pragma once
#include <deque>
#include <vector>

#include "runtime/sync.h"
#include "store/history.h"
#include "store/watch.h"

namespace porthole::store {

/// The state of one subscription: either live, with undelivered events in a short queue, or behind, reading from a position in the
/// history's log until it has caught up.
struct Watcher {
    struct Queued {
        std::uint64_t index;
        EventPtr event;
    };
    WatchRequest request;
    WatchHub* hub = nullptr;  ///< null once the hub has closed
    WaitList<void> waiting;
    std::deque<Queued> queue;  ///< live
    std::size_t queued_bytes = 0;
    bool behind = true;
    std::uint64_t cursor = 0;  ///< behind: the next event of the log to examine
    Revision delivered;        ///< everything up to here has been taken, as far as known
};

/// Fans committed events out to watchers, in revision order. Lives on the store's loop. `history` must outlive it; watches may outlive it
/// and then fail with ServiceUnavailable.
///
/// A live watcher's queue holds at most `queue_limit` events; a watcher that does not keep up falls behind, at no cost to others.
class WatchHub {
public:
    /// A queue has at most that many events, and that many bytes of their values.
    WatchHub(const History& history, std::size_t queue_limit, std::size_t queue_bytes)
        : history_(history), queue_limit_(queue_limit), queue_bytes_(queue_bytes) {}
    ~WatchHub() { close(); }

    /// Error: Expired when `request.after` has been compacted.
    Result<Watch> subscribe(WatchRequest request);
    /// Requires: the history's log holds `event` at `index`, and all before it have been published.
    void publish(std::uint64_t index, const EventPtr& event);
    /// Called before the history restarts: every watch fails with Expired.
    void expire_all();
    /// Ends every watch.
    void close();

private:
    friend Watch;
    struct Group {
        std::vector<Watcher*> all;
        ByName<std::vector<Watcher*>> by_topic;
    };

    static Task<std::vector<EventPtr>> next(std::shared_ptr<Watcher> watcher, std::size_t limit);
    static Task<> wait(std::shared_ptr<Watcher> watcher);
    static Result<std::vector<EventPtr>> take(Watcher& watcher, std::size_t limit);
    Result<std::vector<EventPtr>> take_now(Watcher& watcher, std::size_t limit) const;
    Result<std::vector<EventPtr>> catch_up(Watcher& watcher, std::size_t limit) const;
    Revision delivered(const Watcher& watcher) const;
    void unsubscribe(Watcher& watcher);
    template <class Visit>
    void visit_watchers(Visit visit) const;
    void publish_to(std::string_view prefix, std::uint64_t index, const EventPtr& event);
    void offer(Watcher& watcher, std::uint64_t index, const EventPtr& event);

    const History& history_;
    std::size_t queue_limit_, queue_bytes_;
    ByName<Group> groups_;  // by prefix
};

}  // namespace porthole::store
