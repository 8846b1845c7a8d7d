#pragma once
#include <deque>
#include <vector>

#include "runtime/sync.h"
#include "store/history.h"
#include "store/watch.h"

namespace porthole::store {

/// One subscription's state: either live, with what it has not taken in a short queue, or behind, with a place in the
/// history's log from which it reads until it has caught up.
struct Watcher {
    struct Queued {
        std::uint64_t index;
        EventPtr event;
    };
    WatchRequest request;
    WatchHub* hub = nullptr;  ///< null once the hub has closed
    WaitList<void> waiting;
    std::deque<Queued> queue;  ///< live
    bool behind = true;
    std::uint64_t cursor = 0;  ///< behind: the next event of the log to look at
    Revision delivered;        ///< everything up to here has been taken, as far as known
};

/// Fans committed events out to watchers, in revision order. Lives on the store's loop.
///
/// A live watcher's queue is short; a watcher that does not keep up falls behind, which costs nobody anything.
class WatchHub {
public:
    WatchHub(const History& history, std::size_t queue_limit) : history_(history), queue_limit_(queue_limit) {}
    ~WatchHub() { close(); }

    Result<Watch> subscribe(WatchRequest request);
    /// Requires: the history's log holds `event` at `index`, and all before it have been published.
    void publish(std::uint64_t index, const EventPtr& event);
    /// Ends every watch.
    void close();

private:
    friend Watch;
    struct Group {
        std::vector<Watcher*> all;
        ByName<std::vector<Watcher*>> by_topic;
    };

    static Task<std::vector<EventPtr>> take(std::shared_ptr<Watcher> watcher, std::size_t limit);
    Result<std::vector<EventPtr>> take_now(Watcher& watcher, std::size_t limit) const;
    Result<std::vector<EventPtr>> catch_up(Watcher& watcher, std::size_t limit) const;
    Revision delivered(const Watcher& watcher) const;
    void unsubscribe(Watcher& watcher);
    void publish_to(std::string_view prefix, std::uint64_t index, const EventPtr& event);
    void offer(Watcher& watcher, std::uint64_t index, const EventPtr& event);

    const History& history_;
    std::size_t queue_limit_;
    ByName<Group> groups_;  // by prefix
};

}  // namespace porthole::store
