#include "store/engine_store.h"

#include <algorithm>

#include "base/result.h"
#include "store/visible_state.h"

namespace porthole::store {
namespace {

// A group is bounded so that one fsync's worth of waiting stays short, and memory small.
constexpr std::size_t GroupTransactions = 512;
constexpr std::size_t GroupBytes = 4u << 20;
// What the loop or the writer does at a stretch before others get their turn.
constexpr std::size_t CompactionSlice = 256;  // events; each may be the packing of a value
constexpr std::size_t KeysPerRevoke = 512;
constexpr Duration RetryDelay = std::chrono::seconds(1);
constexpr Duration Patience = std::chrono::milliseconds(100);

/// As etcd's, which clients and operators know.
Error quota_error() { return Error(Reason::Unknown, "etcdserver: mvcc: database space exceeded"); }

bool writes(const Transaction& transaction) {
    return std::ranges::any_of(transaction.operations, [](const Operation& operation) { return std::holds_alternative<Put>(operation); });
}

Error lease_not_found(LeaseId lease) { return Error(Reason::NotFound, "lease " + std::to_string(lease.value) + " not found"); }

}  // namespace

Result<std::unique_ptr<Store>> Store::open(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options) {
    auto store = std::make_unique<EngineStore>(std::move(seams), std::move(engine), std::move(attributes_of), options);
    TRY_VOID(store->load());
    store->start();
    return std::unique_ptr<Store>(std::move(store));
}

EngineStore::EngineStore(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options)
    : Store(seams.loop, std::move(attributes_of), options),
      pool_(seams.pool),
      log_(std::move(seams.log)),
      engine_(std::move(engine)),
      options_(options),
      limits_(options),
      leases_(seams.loop),
      scope_(seams.loop) {}

Result<void> EngineStore::load() {
    std::vector<Row> rows;
    TRY(const Revision compacted, engine_->load([&](Row row) { rows.push_back(std::move(row)); }));
    history_.begin_load(std::move(rows), compacted, superseded_);
    RangeRequest granted;
    granted.prefix = LeasePrefix;
    TRY(Range lease_records, history_.range(granted));
    TRY(Range records, history_.range(RangeRequest()));
    for (const Range* range : {&lease_records, &records}) {
        for (const RecordPtr& record : range->records) {
            leases_.apply(Event{.revision = record->modified, .record = record, .previous = nullptr});
        }
    }
    return {};
}

void EngineStore::start() {
    open_ = true;
    watch_quota();
    limits_.mark(loop_.now(), history_.revision());
    scope_.spawn(write_groups());
    scope_.spawn(compact_in_time());
    scope_.spawn(end_leases());
    arm_lease_timer();
}

// Writing

Task<Committed> EngineStore::commit(Transaction transaction) {
    if (visible_->closing) co_return closing_error();
    for (const Operation& operation : transaction.operations) {
        if (const Put* put = std::get_if<Put>(&operation)) CO_TRY_VOID(engine_->check_writable(put->key));
    }
    const auto pending = std::make_shared<Pending>();
    pending->transaction = std::move(transaction);
    queue_.push_back(pending);
    work_.set();
    if (!pending->transaction.patient) urgent_work_.set();
    co_return co_await pending->result.wait();
}

Task<> EngineStore::write_groups() {
    while (!visible_->closing) {
        if (queue_.empty()) {
            work_.reset();
            CO_TRY_VOID(co_await work_.wait());
        }
        CO_TRY_VOID(co_await wait_for_company());
        CO_TRY_VOID(co_await write_group());
    }
    co_return {};
}

Task<> EngineStore::wait_for_company() {
    if (!std::ranges::all_of(queue_, [](const PendingPtr& pending) { return pending->transaction.patient; })) co_return {};
    urgent_work_.reset();
    const auto waited = co_await with_timeout(urgent_work_.wait(), Patience, "urgent work");
    if (is_cancelled(waited)) co_return waited.error();
    co_return {};
}

std::vector<EngineStore::PendingPtr> EngineStore::form_group(WriteGroup& group) {
    std::vector<PendingPtr> members;
    std::deque<PendingPtr> deferred;
    while (!queue_.empty() && members.size() < GroupTransactions && group.bytes() < GroupBytes) {
        PendingPtr pending = std::move(queue_.front());
        queue_.pop_front();
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
    queue_.insert(queue_.begin(), deferred.begin(), deferred.end());
    return members;
}

Task<> EngineStore::write_group() {
    CO_TRY(const Semaphore::Permit turn, co_await engine_turn_.acquire());
    WriteGroup group(history_);
    const std::vector<PendingPtr> members = form_group(group);
    Result<void> written;
    if (!group.commits().empty()) {
        written = co_await run_blocking<void>(pool_, [&] { return engine_->append(group.commits()); });
    }
    if (written) {
        if (std::exchange(write_failed_, false)) log_.info("the store can be written again");
        publish(group, members);
        // Set here: before the task begins, another group may get here that had nothing to write.
        if (engine_->checkpoint_due() && !std::exchange(checkpointing_, true)) scope_.spawn(checkpoint());
        co_return {};
    }
    if (!std::exchange(write_failed_, true)) log_.error("writing failed", {{"error", written.error().message}});
    for (const PendingPtr& pending : members) pending->result.set(written.error());
    co_return {};
}

void EngineStore::publish(WriteGroup& group, const std::vector<PendingPtr>& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
        members[i]->result.set(publish_member(group, group.members()[i]));
    }
    visible_->announce();
    arm_lease_timer();
    watch_quota();
    if (limits_.exceeded(history_)) history_full_.set();
}

Committed EngineStore::publish_member(WriteGroup& group, WriteGroup::Member& member) {
    Committed committed;
    for (std::size_t i = 0; i < member.rows.size(); ++i) {
        if (member.rows[i] == WriteGroup::NoRow) {
            committed.events.push_back(nullptr);
            continue;
        }
        Row& row = group.commits()[member.commit].rows[member.rows[i]];
        EventPtr event = visible_->apply(std::move(row), std::move(member.attributes[i]));
        leases_.apply(*event);
        committed.events.push_back(std::move(event));
    }
    committed.revision = history_.revision();
    return committed;
}

Task<> EngineStore::checkpoint() {
    CO_TRY_VOID(co_await run_blocking<void>(pool_, [this]() -> Result<void> {
        engine_->checkpoint();
        return {};
    }));
    checkpointing_ = false;
    co_return {};
}

// Quota

Store::Usage EngineStore::usage() const {
    return {history_.live_bytes(), history_.superseded_bytes(), options_.quota_bytes, quota_exceeded_};
}

bool EngineStore::within_quota(const Transaction& transaction) const {
    if (!quota_exceeded_ || !quota_enforced_ || !writes(transaction)) return true;
    const std::size_t reserve = options_.quota_bytes / 10;
    return transaction.frees && history_.live_bytes() + history_.superseded_bytes() <= options_.quota_bytes + reserve;
}

void EngineStore::watch_quota() {
    if (options_.quota_bytes == 0) return;
    const std::size_t bytes = history_.live_bytes() + history_.superseded_bytes(),
                      enough = options_.quota_bytes - options_.quota_bytes / 20;
    if (!quota_exceeded_ && bytes > options_.quota_bytes) {
        quota_exceeded_ = true;
        log_.error("the store exceeds its quota: creates and updates are refused until objects are deleted",
                   {{"bytes", bytes}, {"quota", options_.quota_bytes}});
    } else if (quota_exceeded_ && bytes <= enough) {
        quota_exceeded_ = false;
        log_.info("the store is within its quota again", {{"bytes", bytes}, {"quota", options_.quota_bytes}});
    }
    if (quota_exceeded_ && history_.live_bytes() <= enough) history_full_.set();
}

// Compaction

Task<> EngineStore::compact_in_time() {
    while (!visible_->closing) {
        const Result<void> full = co_await with_timeout(history_full_.wait(), limits_.period(), "waiting for history");
        if (!full && full.error().reason != Reason::Timeout) co_return full.error();
        if (visible_->closing) break;
        const Result<void> done = co_await compact_to(limits_.target(loop_.now(), history_, quota_exceeded_));
        history_full_.reset();
        if (done) continue;
        if (is_cancelled(done)) co_return done.error();
        log_.warn("compaction postponed", {{"error", done.error().message}});
        CO_TRY_VOID(co_await loop_.sleep(RetryDelay));
    }
    co_return {};
}

Task<> EngineStore::compact_to(Revision target) {
    while (!history_.compact_some(target, CompactionSlice, superseded_)) CO_TRY_VOID(co_await loop_.sleep({}));
    watch_quota();
    CO_TRY_VOID(co_await forget_superseded());
    co_return {};
}

Task<> EngineStore::forget_superseded() {
    while (!superseded_.empty()) {
        CO_TRY(const Semaphore::Permit turn, co_await engine_turn_.acquire());
        // Oldest first: were a deletion forgotten before what it deleted, a start after a crash in between would bring that back.
        // More may be added at the end meanwhile; only whoever has the turn takes from the front.
        const auto count = static_cast<std::ptrdiff_t>(std::min(superseded_.size(), options_.compaction_rows));
        const std::vector<Row> rows(superseded_.begin(), superseded_.begin() + count);
        const Revision compacted = history_.compacted();
        CO_TRY_VOID(co_await run_blocking<void>(pool_, [&] { return engine_->compact(compacted, rows); }));
        superseded_.erase(superseded_.begin(), superseded_.begin() + count);
    }
    co_return {};
}

// Leases

void EngineStore::arm_lease_timer() {
    const MonotonicTime deadline = leases_.next_deadline();
    if (deadline >= lease_timer_at_ || visible_->closing) return;
    if (lease_timer_at_ != MonotonicTime::max()) loop_.cancel_timer(lease_timer_);
    lease_timer_at_ = deadline;
    lease_timer_ = loop_.call_at(deadline, [this] {
        lease_timer_at_ = MonotonicTime::max();
        lease_due_.set();
    });
}

Task<> EngineStore::end_leases() {
    while (!visible_->closing) {
        CO_TRY_VOID(co_await lease_due_.wait());
        lease_due_.reset();
        for (const LeaseId lease : leases_.due()) {
            const Result<void> revoked = co_await revoke(lease);
            if (revoked) continue;
            if (is_cancelled(revoked)) co_return revoked.error();
            leases_.postpone(lease, RetryDelay);
        }
        arm_lease_timer();
    }
    co_return {};
}

Task<> EngineStore::revoke(LeaseId lease) {
    for (;;) {
        Transaction transaction;
        for (const std::string& key : leases_.keys(lease, KeysPerRevoke)) {
            // Whoever writes the record anew, perhaps under another lease, keeps it.
            transaction.guards.push_back(Guard::unchanged(key, history_.get(key)->modified));
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

Task<LeaseId> EngineStore::grant_lease(Duration ttl) {
    const LeaseId lease = leases_.next_id();
    Transaction transaction;
    transaction.guards.push_back(Guard::absent(lease_key(lease)));
    Put put;
    put.key = lease_key(lease);
    put.value = std::to_string(ttl.count());
    transaction.operations.push_back(std::move(put));
    CO_TRY_VOID(co_await commit(std::move(transaction)));
    co_return lease;
}

Task<> EngineStore::keep_alive(LeaseId lease) {
    if (leases_.keep_alive(lease)) co_return {};
    co_return lease_not_found(lease);
}

Task<> EngineStore::revoke_lease(LeaseId lease) {
    if (!leases_.contains(lease)) co_return lease_not_found(lease);
    co_return co_await revoke(lease);
}

Task<> EngineStore::compact(Revision revision) { return compact_to(std::min(revision, history_.revision())); }

Task<> EngineStore::close() {
    visible_->close();
    if (lease_timer_at_ != MonotonicTime::max()) loop_.cancel_timer(lease_timer_);
    CO_TRY_VOID(co_await scope_.close());
    for (const PendingPtr& pending : queue_) pending->result.set(closing_error());
    queue_.clear();
    CO_TRY_VOID(co_await run_blocking<void>(pool_, [this]() -> Result<void> {
        engine_->close();
        return {};
    }));
    open_ = false;
    co_return {};
}

}  // namespace porthole::store
