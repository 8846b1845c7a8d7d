#pragma once
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "runtime/sync.h"
#include "runtime/worker_pool.h"
#include "store/engine.h"
#include "store/range.h"
#include "store/transaction.h"
#include "store/watch.h"

namespace porthole::store {

struct VisibleState;

/// The cluster's state: keys, revisions, watches and leases, in the manner of etcd.
///
/// Reads are answered from memory, immediately, and show exactly what has been acknowledged or is about to be. A write is acknowledged once
/// it is durable and readers see it. The derived class makes it durable: EngineStore assigns revisions itself and appends to an Engine;
/// EtcdStore (store/etcd) takes revisions from an etcd that other servers also write to. Lives on one loop; not thread-safe. The loop and
/// the pool must outlive it. Destroying it without close() aborts the program. Records and events that it returned stay valid.
class Store {
public:
    struct Options {
        Duration keep_history_for = std::chrono::minutes(5);  ///< how long old revisions can be read and watched from
        std::size_t keep_events = 100'000;                    ///< at most this many changes of history
        std::size_t keep_bytes = 64u << 20;                   ///< at most this many bytes of superseded values
        std::size_t whole_bytes = 16u << 20;                  ///< values that are kept as they are, see History
        std::size_t compaction_rows = 1024;                   ///< removed by one transaction of the engine
        std::size_t quota_bytes = 2u << 30;                   ///< see Usage; 0: no limit. An etcd has its own
    };
    /// Bytes of keys and values, of current records and of the history. Once they exceed the quota, creates and updates are refused until
    /// deletions have made them a twentieth smaller than it; if it is enough to drop the history, the history is dropped.
    struct Usage {
        std::size_t live_bytes = 0, history_bytes = 0, quota_bytes = 0;
        bool exceeded = false;
    };
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        Logger log;
    };

    /// Opens a store over `engine`: loads everything, on the calling thread. `attributes_of` may be empty. Error: Io, as Engine::load().
    static Result<std::unique_ptr<Store>> open(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options);
    virtual ~Store();

    /// The newest revision readers can see.
    Revision revision() const;
    /// The oldest revision that can still be read, and watched from.
    Revision compacted() const;

    /// The key's current record, or null.
    RecordPtr get(std::string_view key) const;
    /// The record as of `revision`, or null. Errors: Expired; Timeout for a revision in the future.
    Result<RecordPtr> get_at(std::string_view key, Revision revision) const;
    /// Errors: as get_at.
    Result<Range> range(const RangeRequest& request) const;
    /// The same in pieces: looks at up to `keys` further keys and adds what it finds to `range`, which is empty at first. All pieces are of
    /// the revision that the first one was read at, whatever is written between them. Whether the range is whole. Errors: as get_at, also
    /// Expired if the revision has been compacted since the first piece.
    Result<bool> read_on(const RangeRequest& request, Range& range, std::size_t keys) const;
    /// Keys under `prefix` now.
    std::size_t count(std::string_view prefix) const;
    /// Waits until revision() >= `revision`. Errors: Timeout ("Too large resource version: 9, current: 5") after `limit`,
    /// ServiceUnavailable if closing.
    Task<> wait_for_revision(Revision revision, Duration limit);

    /// Errors: Expired when `request.after` has been compacted, ServiceUnavailable if closing.
    Result<Watch> watch(WatchRequest request);

    virtual Usage usage() const = 0;
    /// Whether writes beyond the quota are refused; true at first. An etcd enforces its own quota.
    virtual void enforce_quota(bool enforced) = 0;
    /// Whether a write of the same value would change what is stored; see Engine::is_stale().
    virtual bool is_stale(std::string_view key) const = 0;
    /// "" while the writes of others arrive; otherwise the reason why they do not: readers may then see an old state. For health checks.
    virtual std::string why_behind() const { return ""; }

    /// Errors: AlreadyExists, NotFound or Conflict if a guard does not hold (the change that conflicts is then visible to readers),
    /// NotFound for an unknown lease, Io if the disk fails, ServiceUnavailable if closing or if an etcd cannot be written to, Timeout if
    /// the outcome is unknown (etcd only), those of Engine::check_writable(), Unknown with etcd's message if the quota is exceeded and
    /// there is a Put. Cancelling the caller does not stop a transaction that is already queued (with etcd: sent).
    virtual Task<Committed> commit(Transaction transaction) = 0;

    /// A lease expires `ttl` after it was granted or last kept alive; every record that names it is deleted then. Leases survive a restart.
    /// Errors: as commit().
    virtual Task<LeaseId> grant_lease(Duration ttl) = 0;
    /// A lease that lasts at least `ttl` and at most a little longer, shared by several callers: for many short-lived records. Must not be
    /// kept alive or revoked.
    Task<LeaseId> shared_lease(Duration ttl);
    /// Errors: NotFound, and as commit().
    virtual Task<> keep_alive(LeaseId lease) = 0;
    /// Deletes the lease's records, then the lease. Error: NotFound, and as commit().
    virtual Task<> revoke_lease(LeaseId lease) = 0;

    /// Drops history up to `revision` (or the newest, if that is less), as also happens over time. Error: Io.
    virtual Task<> compact(Revision revision) = 0;
    /// Ends watches, finishes the write in progress, refuses further ones. Call once.
    virtual Task<> close() = 0;

protected:
    Store(EventLoop& loop, AttributesOf attributes_of, const Options& options);
    /// Whether a shared lease may still be handed out. True if that is not known.
    virtual bool has_lease(LeaseId) const { return true; }
    void forget_shared_leases() { shared_leases_.clear(); }

    EventLoop& loop_;
    const std::unique_ptr<VisibleState> visible_;
    bool open_ = false;  ///< from the derived class's start to the end of its close()

private:
    Task<> reach(Revision revision);

    struct SharedLease {
        LeaseId lease;
        MonotonicTime good_until;
    };
    std::map<Duration, SharedLease> shared_leases_;
    Semaphore shared_lease_turn_{1};
};

}  // namespace porthole::store
