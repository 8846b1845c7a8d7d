#include "store/store.h"

#include <algorithm>
#include <deque>
#include <map>

#include "base/result.h"
#include "runtime/scope.h"
#include "runtime/sync.h"
#include "store/history.h"
#include "store/lease_table.h"
#include "store/watch_hub.h"
#include "store/write_group.h"

namespace porthole::store {
namespace {

// A group is bounded so that one fsync's worth of waiting stays short, and memory small.
constexpr std::size_t GroupTransactions = 512;
constexpr std::size_t GroupBytes = 4u << 20;
// What the loop or the writer does at a stretch before others get their turn.
constexpr std::size_t CompactionSlice = 4096;
constexpr std::size_t WatcherQueue = 1024, WatcherQueueBytes = 8u << 20;
constexpr std::size_t KeysPerRevoke = 512;
constexpr Duration RetryDelay = std::chrono::seconds(1);

/// As etcd's, which clients and operators know.
Error quota_error() { return Error(Reason::Unknown, "etcdserver: mvcc: database space exceeded"); }

bool writes(const Transaction& transaction) {
    return std::ranges::any_of(transaction.operations, [](const Operation& operation) { return std::holds_alternative<Put>(operation); });
}

Error closing_error() { return Error(Reason::ServiceUnavailable, "the store is closing"); }

struct Pending {
    Transaction transaction;
    Promise<Committed> result;
};
using PendingPtr = std::shared_ptr<Pending>;

}  // namespace

struct Store::Impl {
    Impl(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options)
        : loop(seams.loop),
          pool(seams.pool),
          log(std::move(seams.log)),
          engine(std::move(engine)),
          options(options),
          history(std::move(attributes_of)),
          hub(history, WatcherQueue, WatcherQueueBytes),
          leases(seams.loop),
          scope(seams.loop) {}

    Result<void> load();
    void start();

    Task<> write_groups();
    Task<> write_group();
    std::vector<PendingPtr> form_group(WriteGroup& group);
    void publish(WriteGroup& group, const std::vector<PendingPtr>& members);
    Committed publish_member(WriteGroup& group, WriteGroup::Member& member);

    Task<> compact_in_time();
    Task<> compact_to(Revision target);
    Task<> forget_superseded();
    Revision compaction_target();
    Task<> checkpoint();

    Usage usage() const;
    bool within_quota(const Transaction& transaction) const;
    void watch_quota();

    Task<> end_leases();
    Task<> revoke(LeaseId lease);
    Task<LeaseId> grant(Duration ttl);
    Task<LeaseId> grant_shared(Duration ttl);
    void arm_lease_timer();
    Task<> reach(Revision revision);
    Task<Committed> commit(Transaction transaction);
    Task<> close();

    EventLoop& loop;
    WorkerPool& pool;
    Logger log;
    std::unique_ptr<Engine> engine;
    Options options;
    History history;
    WatchHub hub;
    WaitList<void> revision_waiters;

    std::deque<PendingPtr> queue;
    porthole::Event work;
    Semaphore engine_turn{1};  // append and compact never overlap
    bool write_failed = false, quota_exceeded = false, quota_enforced = true;
    bool checkpointing = false;

    std::deque<Row> superseded;                            // rows that the engine may forget, oldest first
    std::deque<std::pair<MonotonicTime, Revision>> marks;  // when which revision was current
    porthole::Event history_full;

    LeaseTable leases;
    porthole::Event lease_due;
    TimerId lease_timer{};
    MonotonicTime lease_timer_at = MonotonicTime::max();
    struct SharedLease {
        LeaseId lease;
        MonotonicTime good_until;
    };
    std::map<Duration, SharedLease> shared_leases;
    Semaphore shared_lease_turn{1};

    Scope scope;
    bool closing = false;
    bool closed = false;
};

// Start

Result<std::unique_ptr<Store>> Store::open(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options) {
    auto impl = std::make_unique<Impl>(std::move(seams), std::move(engine), std::move(attributes_of), options);
    TRY_VOID(impl->load());
    impl->watch_quota();
    impl->start();
    return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() { CHECK(impl_->closed); }

Result<void> Store::Impl::load() {
    std::vector<Row> rows;
    TRY(const Revision compacted, engine->load([&](Row row) { rows.push_back(std::move(row)); }));
    history.begin_load(std::move(rows), compacted, superseded);
    RangeRequest granted;
    granted.prefix = LeasePrefix;
    TRY(Range lease_records, history.range(granted));
    TRY(Range records, history.range(RangeRequest()));
    for (const Range* range : {&lease_records, &records}) {
        for (const RecordPtr& record : range->records) {
            leases.apply(Event{.revision = record->modified, .record = record, .previous = nullptr});
        }
    }
    return {};
}

void Store::Impl::start() {
    marks.emplace_back(loop.now(), history.revision());
    scope.spawn(write_groups());
    scope.spawn(compact_in_time());
    scope.spawn(end_leases());
    arm_lease_timer();
}

// Writing

Task<Committed> Store::Impl::commit(Transaction transaction) {
    if (closing) co_return closing_error();
    for (const Operation& operation : transaction.operations) {
        if (const Put* put = std::get_if<Put>(&operation)) CO_TRY_VOID(engine->check_writable(put->key));
    }
    const auto pending = std::make_shared<Pending>();
    pending->transaction = std::move(transaction);
    queue.push_back(pending);
    work.set();
    co_return co_await pending->result.wait();
}

Task<> Store::Impl::write_groups() {
    while (!closing) {
        if (queue.empty()) {
            work.reset();
            CO_TRY_VOID(co_await work.wait());
        }
        CO_TRY_VOID(co_await write_group());
    }
    co_return {};
}

std::vector<PendingPtr> Store::Impl::form_group(WriteGroup& group) {
    std::vector<PendingPtr> members;
    std::deque<PendingPtr> deferred;
    while (!queue.empty() && members.size() < GroupTransactions && group.bytes() < GroupBytes) {
        PendingPtr pending = std::move(queue.front());
        queue.pop_front();
        if (!within_quota(pending->transaction)) {
            pending->result.set(quota_error());
            continue;
        }
        Result<WriteGroup::Admission> admission = group.admit(pending->transaction);
        if (!admission) {
            pending->result.set(std::move(admission).error());
        } else if (*admission == WriteGroup::Admission::Joined) {
            members.push_back(std::move(pending));
        } else {
            deferred.push_back(std::move(pending));
        }
    }
    queue.insert(queue.begin(), deferred.begin(), deferred.end());
    return members;
}

Task<> Store::Impl::write_group() {
    CO_TRY(const Semaphore::Permit turn, co_await engine_turn.acquire());
    WriteGroup group(history);
    const std::vector<PendingPtr> members = form_group(group);
    Result<void> written;
    if (!group.commits().empty()) {
        written = co_await run_blocking<void>(pool, [&] { return engine->append(group.commits()); });
    }
    if (written) {
        if (std::exchange(write_failed, false)) log.info("the store can be written again");
        publish(group, members);
        if (engine->checkpoint_due() && !checkpointing) scope.spawn(checkpoint());
        co_return {};
    }
    if (!std::exchange(write_failed, true)) log.error("writing failed", {{"error", written.error().message}});
    for (const PendingPtr& pending : members) pending->result.set(written.error());
    co_return {};
}

void Store::Impl::publish(WriteGroup& group, const std::vector<PendingPtr>& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
        members[i]->result.set(publish_member(group, group.members()[i]));
    }
    revision_waiters.wake_all({});
    arm_lease_timer();
    watch_quota();
    if (history.log_end() - history.log_begin() > options.keep_events || history.superseded_bytes() > options.keep_bytes) {
        history_full.set();
    }
}

Committed Store::Impl::publish_member(WriteGroup& group, WriteGroup::Member& member) {
    Committed committed;
    for (std::size_t i = 0; i < member.rows.size(); ++i) {
        if (member.rows[i] == WriteGroup::NoRow) {
            committed.events.push_back(nullptr);
            continue;
        }
        Row& row = group.commits()[member.commit].rows[member.rows[i]];
        const std::uint64_t index = history.log_end();
        EventPtr event = history.apply(std::move(row), std::move(member.attributes[i]));
        leases.apply(*event);
        hub.publish(index, event);
        committed.events.push_back(std::move(event));
    }
    committed.revision = history.revision();
    return committed;
}

Task<> Store::Impl::checkpoint() {
    checkpointing = true;
    CO_TRY_VOID(co_await run_blocking<void>(pool, [this]() -> Result<void> {
        engine->checkpoint();
        return {};
    }));
    checkpointing = false;
    co_return {};
}

// Quota

Store::Usage Store::Impl::usage() const { return {history.live_bytes(), history.superseded_bytes(), options.quota_bytes, quota_exceeded}; }

bool Store::Impl::within_quota(const Transaction& transaction) const {
    if (!quota_exceeded || !quota_enforced || !writes(transaction)) return true;
    const std::size_t reserve = options.quota_bytes / 10;
    return transaction.frees && history.live_bytes() + history.superseded_bytes() <= options.quota_bytes + reserve;
}

void Store::Impl::watch_quota() {
    if (options.quota_bytes == 0) return;
    const std::size_t bytes = history.live_bytes() + history.superseded_bytes(), enough = options.quota_bytes - options.quota_bytes / 20;
    if (!quota_exceeded && bytes > options.quota_bytes) {
        quota_exceeded = true;
        log.error("the store exceeds its quota: what creates or updates is refused until something has been deleted",
                  {{"bytes", bytes}, {"quota", options.quota_bytes}});
    } else if (quota_exceeded && bytes <= enough) {
        quota_exceeded = false;
        log.info("the store is within its quota again", {{"bytes", bytes}, {"quota", options.quota_bytes}});
    }
    if (quota_exceeded && history.live_bytes() <= enough) history_full.set();
}

// Compaction

Task<> Store::Impl::compact_in_time() {
    const Duration period = std::max<Duration>(options.keep_history_for / 10, std::chrono::milliseconds(1));
    while (!closing) {
        const Result<void> full = co_await with_timeout(history_full.wait(), period, "waiting for history");
        if (!full && full.error().reason != Reason::Timeout) co_return full.error();
        if (closing) break;
        const Result<void> done = co_await compact_to(compaction_target());
        history_full.reset();
        if (done) continue;
        if (is_cancelled(done)) co_return done.error();
        log.warn("compaction postponed", {{"error", done.error().message}});
        CO_TRY_VOID(co_await loop.sleep(RetryDelay));
    }
    co_return {};
}

Revision Store::Impl::compaction_target() {
    const MonotonicTime now = loop.now();
    marks.emplace_back(now, history.revision());
    while (marks.size() > 1 && marks[1].first + options.keep_history_for <= now) marks.pop_front();
    Revision target = marks.front().first + options.keep_history_for <= now ? marks.front().second : Revision();
    // When there is too much, a tenth more than needed goes, so that it is not always just too much.
    const std::uint64_t events = history.log_end() - history.log_begin();
    std::uint64_t surplus = 0;
    if (events > options.keep_events) surplus = events - options.keep_events + options.keep_events / 10;
    if (history.superseded_bytes() > options.keep_bytes) surplus = std::max(surplus, events / 10 + 1);
    if (quota_exceeded) surplus = events;
    surplus = std::min(surplus, events);
    if (surplus > 0) target = std::max(target, history.event(history.log_begin() + surplus - 1)->revision);
    return target;
}

Task<> Store::Impl::compact_to(Revision target) {
    while (!history.compact_some(target, CompactionSlice, superseded)) CO_TRY_VOID(co_await loop.sleep({}));
    watch_quota();
    CO_TRY_VOID(co_await forget_superseded());
    co_return {};
}

Task<> Store::Impl::forget_superseded() {
    while (!superseded.empty()) {
        CO_TRY(const Semaphore::Permit turn, co_await engine_turn.acquire());
        // Oldest first: were a deletion forgotten before what it deleted, a start after a crash in between would bring that back.
        // More may be added at the end meanwhile; only whoever has the turn takes from the front.
        const auto count = static_cast<std::ptrdiff_t>(std::min(superseded.size(), options.compaction_rows));
        const std::vector<Row> rows(superseded.begin(), superseded.begin() + count);
        const Revision compacted = history.compacted();
        CO_TRY_VOID(co_await run_blocking<void>(pool, [&] { return engine->compact(compacted, rows); }));
        superseded.erase(superseded.begin(), superseded.begin() + count);
    }
    co_return {};
}

// Leases

void Store::Impl::arm_lease_timer() {
    const MonotonicTime deadline = leases.next_deadline();
    if (deadline >= lease_timer_at || closing) return;
    if (lease_timer_at != MonotonicTime::max()) loop.cancel_timer(lease_timer);
    lease_timer_at = deadline;
    lease_timer = loop.call_at(deadline, [this] {
        lease_timer_at = MonotonicTime::max();
        lease_due.set();
    });
}

Task<> Store::Impl::end_leases() {
    while (!closing) {
        CO_TRY_VOID(co_await lease_due.wait());
        lease_due.reset();
        for (const LeaseId lease : leases.due()) {
            const Result<void> revoked = co_await revoke(lease);
            if (revoked) continue;
            if (is_cancelled(revoked)) co_return revoked.error();
            leases.postpone(lease, RetryDelay);
        }
        arm_lease_timer();
    }
    co_return {};
}

Task<> Store::Impl::revoke(LeaseId lease) {
    for (;;) {
        Transaction transaction;
        for (const std::string& key : leases.keys(lease, KeysPerRevoke)) {
            // Whoever writes the record anew, perhaps under another lease, keeps it.
            transaction.guards.push_back(Guard::unchanged(key, history.get(key)->modified));
            transaction.operations.push_back(Delete{key});
        }
        const bool last = transaction.operations.empty();
        if (last) transaction.operations.push_back(Delete{lease_key(lease)});
        const Result<Committed> committed = co_await commit(std::move(transaction));
        const bool changed = !committed && (committed.error().reason == Reason::Conflict || is_not_found(committed));
        if (!committed && !changed) co_return committed.error();
        if (last) co_return {};
    }
}

Task<LeaseId> Store::Impl::grant(Duration ttl) {
    const LeaseId lease = leases.next_id();
    Transaction transaction;
    transaction.guards.push_back(Guard::absent(lease_key(lease)));
    Put put;
    put.key = lease_key(lease);
    put.value = std::to_string(ttl.count());
    transaction.operations.push_back(std::move(put));
    CO_TRY_VOID(co_await commit(std::move(transaction)));
    co_return lease;
}

Task<LeaseId> Store::Impl::grant_shared(Duration ttl) {
    CO_TRY(const Semaphore::Permit turn, co_await shared_lease_turn.acquire());
    const auto found = shared_leases.find(ttl);
    if (found != shared_leases.end() && loop.now() < found->second.good_until && leases.contains(found->second.lease)) {
        co_return found->second.lease;
    }
    const Duration extra = std::max<Duration>(ttl / 20, std::min<Duration>(ttl, std::chrono::minutes(1)));
    const MonotonicTime good_until = loop.now() + extra;
    CO_TRY(const LeaseId lease, co_await grant(ttl + extra));
    shared_leases[ttl] = {lease, good_until};
    co_return lease;
}

// Reading and the rest

Revision Store::revision() const { return impl_->history.revision(); }
Revision Store::compacted() const { return impl_->history.compacted(); }
Store::Usage Store::usage() const { return impl_->usage(); }
void Store::enforce_quota(bool enforced) { impl_->quota_enforced = enforced; }
RecordPtr Store::get(std::string_view key) const { return impl_->history.get(key); }
Result<RecordPtr> Store::get_at(std::string_view key, Revision revision) const { return impl_->history.get_at(key, revision); }
Result<Range> Store::range(const RangeRequest& request) const { return impl_->history.range(request); }
bool Store::is_stale(std::string_view key) const { return impl_->engine->is_stale(key); }
std::size_t Store::count(std::string_view prefix) const { return impl_->history.count(prefix); }
Task<Committed> Store::commit(Transaction transaction) { return impl_->commit(std::move(transaction)); }

Result<Watch> Store::watch(WatchRequest request) {
    if (impl_->closing) return closing_error();
    return impl_->hub.subscribe(std::move(request));
}

Task<> Store::Impl::reach(Revision revision) {
    while (history.revision() < revision) {
        if (closing) co_return closing_error();
        CO_TRY_VOID(co_await revision_waiters.wait());
    }
    co_return {};
}

Task<> Store::wait_for_revision(Revision revision, Duration limit) {
    const Result<void> reached = co_await with_timeout(impl_->reach(revision), limit, "waiting for a revision");
    if (!reached && reached.error().reason == Reason::Timeout) {
        co_return too_large_error(revision, this->revision());
    }
    co_return reached;
}

Task<LeaseId> Store::grant_lease(Duration ttl) { return impl_->grant(ttl); }
Task<LeaseId> Store::shared_lease(Duration ttl) { return impl_->grant_shared(ttl); }

Result<void> Store::keep_alive(LeaseId lease) {
    if (impl_->leases.keep_alive(lease)) return {};
    return Error(Reason::NotFound, "lease " + std::to_string(lease.value) + " not found");
}

Task<> Store::revoke_lease(LeaseId lease) {
    if (!impl_->leases.contains(lease)) {
        co_return Error(Reason::NotFound, "lease " + std::to_string(lease.value) + " not found");
    }
    co_return co_await impl_->revoke(lease);
}

Task<> Store::compact(Revision revision) { return impl_->compact_to(std::min(revision, impl_->history.revision())); }

Task<> Store::Impl::close() {
    closing = true;
    if (lease_timer_at != MonotonicTime::max()) loop.cancel_timer(lease_timer);
    hub.close();
    revision_waiters.wake_all({});
    CO_TRY_VOID(co_await scope.close());
    for (const PendingPtr& pending : queue) pending->result.set(closing_error());
    queue.clear();
    CO_TRY_VOID(co_await run_blocking<void>(pool, [this]() -> Result<void> {
        engine->close();
        return {};
    }));
    closed = true;
    co_return {};
}

Task<> Store::close() { return impl_->close(); }

}  // namespace porthole::store
