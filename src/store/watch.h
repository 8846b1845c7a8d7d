#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/task.h"
#include "store/record.h"

namespace porthole::store {

class WatchHub;
struct Watcher;

/// Which events to deliver, and from where.
struct WatchRequest {
    /// Ends with "/", or is one complete key.
    std::string prefix;
    /// Events with a greater revision are delivered. May lie in the future.
    Revision after;
    /// If not empty: only events whose record or previous record has this topic (Attributes::topic).
    std::string topic;
};

/// A subscription: every event under a prefix, once, in order of revision, without gaps. Ends when it is destroyed.
///
/// A reader may be slow: what it has not taken stays in the store's shared history, at no cost to others, until compaction passes it; then
/// next() fails with Expired. Lives on the store's loop and must not outlive the store.
class Watch {
public:
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    ~Watch();

    static constexpr std::size_t Batch = 512;

    /// Waits for the next events; never empty, at most `limit`. One caller at a time.
    /// Errors: Expired ("too old resource version: 5 (9)"), ServiceUnavailable if the store closes, Cancelled.
    Task<std::vector<EventPtr>> next(std::size_t limit = Batch);
    /// The same in two steps, for a reader that has to wait for its turn in between: what comes meanwhile is taken, too. Waits until there
    /// may be events. Error: Cancelled.
    Task<> wait();
    /// Takes what there is, which may be nothing. Errors: Expired, ServiceUnavailable.
    Result<std::vector<EventPtr>> take(std::size_t limit = Batch);
    /// Everything that matches has been delivered up to this revision; used for bookmarks.
    Revision revision() const;

private:
    friend WatchHub;
    explicit Watch(std::shared_ptr<Watcher> watcher);
    std::shared_ptr<Watcher> watcher_;
};

}  // namespace porthole::store
