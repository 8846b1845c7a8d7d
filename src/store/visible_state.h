#pragma once
#include "runtime/sync.h"
#include "store/history.h"
#include "store/watch_hub.h"

namespace porthole::store {

/// What readers of a store see, and who waits for more of it. The store that owns it applies committed rows to it.
struct VisibleState {
    // A watcher's queue: what is not taken at once by a reader.
    static constexpr std::size_t WatcherQueue = 1024, WatcherQueueBytes = 8u << 20;

    explicit VisibleState(AttributesOf attributes_of) : history(std::move(attributes_of)), hub(history, WatcherQueue, WatcherQueueBytes) {}

    /// Makes one change visible, and has it delivered. Yields null for the deletion of an absent key.
    EventPtr apply(Row row, std::shared_ptr<const Attributes> attributes) {
        const std::uint64_t index = history.log_end();
        EventPtr event = history.apply(std::move(row), std::move(attributes));
        if (event) hub.publish(index, event);
        return event;
    }
    /// After the last change of some revisions.
    void announce() { revision_waiters.wake_all({}); }
    /// Shows what `rows` hold instead of all before; watches expire.
    void restart(std::vector<Row> rows, Revision revision) {
        hub.expire_all();
        history.restart(std::move(rows), revision);
        announce();
    }
    /// Ends watches and waits: from now on the store is closing.
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
