#pragma once
#include "runtime/sync.h"
#include "store/history.h"
#include "store/watch_hub.h"

namespace porthole::store {

/// What readers of a store see, and the tasks that wait for changes. The store that owns it applies committed rows to it.
struct VisibleState {
    // A watcher's queue, for events that its reader has not taken yet.
    static constexpr std::size_t WatcherQueue = 1024, WatcherQueueBytes = 8u << 20;

    VisibleState(AttributesOf attributes_of, std::size_t whole_bytes)
        : history(std::move(attributes_of), whole_bytes), hub(history, WatcherQueue, WatcherQueueBytes) {}

    /// Makes one change visible and delivers it to watchers. Returns null for the deletion of an absent key.
    EventPtr apply(Row row, std::shared_ptr<const Attributes> attributes) {
        const std::uint64_t index = history.log_end();
        EventPtr event = history.apply(std::move(row), std::move(attributes));
        if (event) hub.publish(index, event);
        return event;
    }
    /// Called after the last change of one or more revisions.
    void announce() { revision_waiters.wake_all({}); }
    /// Replaces the state with `rows`; watches expire.
    void restart(std::vector<Row> rows, Revision revision) {
        hub.expire_all();
        history.restart(std::move(rows), revision);
        announce();
    }
    /// Ends watches and waits, because the store is closing.
    void close() {
        closing = true;
        hub.close();
        announce();
    }

    History history;
    WatchHub hub;
    WaitList<void> revision_waiters;
    bool closing = false;
};

inline Error closing_error() { return Error(Reason::ServiceUnavailable, "the store is closing"); }

}  // namespace porthole::store
