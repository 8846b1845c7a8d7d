#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "runtime/worker_pool.h"
#include "store/engine.h"
#include "store/range.h"
#include "store/transaction.h"
#include "store/watch.h"

namespace porthole::store {

/// The cluster's state: keys, revisions, watches, leases, in the manner of etcd.
///
/// Reads come from memory, at once, and show exactly what has been acknowledged or is about to be. Writes are checked on
/// the loop, made durable in groups by one worker, then shown to readers and watchers in order, then acknowledged.
/// Owns the engine. Lives on one loop; not thread-safe. The loop and the pool must outlive it, and it aborts when it is destroyed without
/// close(). Records and events that it gave out stay valid.
class Store {
public:
    struct Options {
        Duration keep_history_for = std::chrono::minutes(5);  ///< how long old revisions can be read and watched from
        std::size_t keep_events = 100'000;                    ///< at most this many changes of history
        std::size_t keep_bytes = 64u << 20;                   ///< at most this many bytes of superseded values
        std::size_t compaction_rows = 1024;                   ///< that one transaction of the engine forgets
        std::size_t quota_bytes = 2u << 30;                   ///< see Usage; 0: no limit
    };
    /// Bytes of keys and values, of current records and of the history. Once they exceed the quota, what creates or updates is refused
    /// until they are a twentieth below it, which deletions lead to; the history is given up when that is enough.
    struct Usage {
        std::size_t live_bytes = 0, history_bytes = 0, quota_bytes = 0;
        bool exceeded = false;
    };
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        Logger log;
    };

    /// Loads everything, on the calling thread. `attributes_of` may be empty. Error: Io, as Engine::load().
    static Result<std::unique_ptr<Store>> open(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options);
    ~Store();

    /// The newest revision readers can see.
    Revision revision() const;
    /// The oldest revision that can still be read, and watched from.
    Revision compacted() const;

    Usage usage() const;
    /// Whether writes beyond the quota are refused, which is so at first.
    void enforce_quota(bool enforced);

    /// The key's current record, or null.
    RecordPtr get(std::string_view key) const;
    /// The record as of `revision`, or null. Errors: Expired; Timeout for a revision that is not there yet.
    Result<RecordPtr> get_at(std::string_view key, Revision revision) const;
    /// Errors: as get_at.
    Result<Range> range(const RangeRequest& request) const;
    /// Keys under `prefix` now.
    std::size_t count(std::string_view prefix) const;
    /// Waits until revision() >= `revision`. Errors: Timeout ("Too large resource version: 9, current: 5") after `limit`,
    /// ServiceUnavailable when closing.
    Task<> wait_for_revision(Revision revision, Duration limit);

    /// Whether a write of the same value would change what is on disk; see Engine::is_stale().
    bool is_stale(std::string_view key) const;

    /// Errors: AlreadyExists, NotFound, Conflict when a guard does not hold (what refused it is then visible to readers),
    /// NotFound for an unknown lease, Io when the disk refuses, ServiceUnavailable when closing, those of Engine::check_writable(), Unknown
    /// in etcd's words when the quota is exceeded and there is a Put. A cancelled caller does not stop a transaction that is already
    /// queued.
    Task<Committed> commit(Transaction transaction);

    /// Errors: Expired when `request.after` has been compacted, ServiceUnavailable when closing.
    Result<Watch> watch(WatchRequest request);

    /// A lease ends `ttl` after it was granted or last kept alive; every record that names it goes with it. Leases
    /// survive a restart, which keeps them alive once. Errors: as commit().
    Task<LeaseId> grant_lease(Duration ttl);
    /// A lease that lasts at least `ttl` and at most a little longer, shared with others who ask: for many short-lived
    /// records. Not to be kept alive or revoked.
    Task<LeaseId> shared_lease(Duration ttl);
    /// Error: NotFound.
    Result<void> keep_alive(LeaseId lease);
    /// Deletes the lease's records, then the lease. Error: NotFound, and as commit().
    Task<> revoke_lease(LeaseId lease);

    /// Forgets history up to `revision` (or the newest, if that is less), as the passing of time also does. Error: Io.
    Task<> compact(Revision revision);
    /// Ends watches, finishes the write in progress, refuses the rest, closes the engine. Call once.
    Task<> close();

private:
    struct Impl;
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::store
