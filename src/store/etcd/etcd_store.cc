#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <set>

#include "base/result.h"
#include "runtime/scope.h"
#include "store/etcd/compactor.h"
#include "store/etcd/fence.h"
#include "store/etcd/outcomes.h"
#include "store/etcd/read_barrier.h"
#include "store/etcd/reflector.h"
#include "store/etcd/repetition.h"
#include "store/history_limits.h"
#include "store/shared_store.h"

namespace porthole::store::etcd {
namespace {

/// Transactions on their way at a time; more wait for their turn.
constexpr std::size_t MostInFlight = 256;
/// How long a Txn may take that can be sent again to another member, and one that cannot: etcd itself answers after seven seconds.
constexpr Duration FirstAttemptTime = std::chrono::milliseconds(2500), LastAttemptTime = std::chrono::seconds(8);
constexpr Duration RestorePause = std::chrono::milliseconds(100);
constexpr std::size_t CompactionSlice = 256;  // events; each may be the packing of a value

class EtcdStore final : public SharedStore {
public:
    EtcdStore(Seams seams, std::vector<Member> members, std::shared_ptr<StoredForm> form, AttributesOf attributes_of,
              EtcdStoreOptions options);

    Task<> load() { return reflector_.load(); }
    void start();

    Usage usage() const override { return {history_.live_bytes(), history_.superseded_bytes(), 0, space_exceeded_}; }
    void enforce_quota(bool) override {}
    bool is_stale(std::string_view key) const override { return form_->is_stale(key); }
    std::string why_behind() const override { return reflector_.why_behind(); }
    Task<> catch_up() override {
        if (visible_->closing) co_return closing_error();
        co_return co_await barrier_.pass();
    }
    Task<Committed> commit(Transaction transaction) override;
    Task<LeaseId> grant_lease(Duration ttl) override;
    Task<> keep_alive(LeaseId lease) override;
    /// The records go a moment later.
    Task<> revoke_lease(LeaseId lease) override;
    /// Of what is in memory.
    Task<> compact(Revision revision) override;
    Task<> close() override;
    /// Says in the log what etcd this is, and which alarms it has raised.
    Task<> introduce();
    /// Instead of start() and close(), where load() has failed.
    Task<> abandon() {
        CO_TRY_VOID(co_await barrier_.close());
        co_return co_await client_.close();
    }

private:
    using Caller = std::weak_ptr<Promise<Committed>>;                // who waits for what comes of a transaction, while it waits
    using PendingValues = std::vector<std::shared_ptr<const void>>;  ///< of StoredForm
    Task<> write_for(Transaction transaction, Caller caller);
    Task<Committed> write(const Transaction& transaction, const Caller& caller, PendingValues& pending);
    Task<> until_settled();
    void note_arrival();
    Task<Committed> send(const Transaction& transaction, TxnRequest request, Revision sent_after);
    /// With the fence first among the comparisons, and among the questions of the failure.
    Task<TxnRequest> request_of(const Transaction& transaction, PendingValues& pending);
    Task<StoredForm::Sealed> seal(const Put& put);
    Compare compare_of(const Guard& guard) const;
    void note_refusal(const Error& error);
    void note_success(const Transaction& transaction);

    Task<> compact_in_time();
    Task<> compact_to(Revision target);

    WorkerPool& pool_;
    Logger log_;
    const std::shared_ptr<StoredForm> form_;
    const EtcdStoreOptions options_;
    History& history_ = visible_->history;
    HistoryLimits limits_;
    Client client_;
    Reflector reflector_;
    Fence fence_;
    const Outcomes outcomes_{{*this, *visible_, reflector_, fence_}};
    ReadBarrier barrier_;
    Compactor compactor_;
    Semaphore in_flight_{MostInFlight};
    std::multiset<Revision> sent_after_;  ///< what was visible when each transaction on its way was sent: later history is kept for it
    porthole::Event history_full_;
    std::size_t loads_ = 0;
    bool space_exceeded_ = false;
    Scope scope_;
};

EtcdStore::EtcdStore(Seams seams, std::vector<Member> members, std::shared_ptr<StoredForm> form, AttributesOf attributes_of,
                     EtcdStoreOptions options)
    : SharedStore(seams.loop, std::move(attributes_of), options.history),
      pool_(seams.pool),
      log_(seams.log),
      form_(std::move(form)),
      options_(std::move(options)),
      limits_(options_.history),
      client_(seams.loop, std::move(members)),
      reflector_({seams.loop, seams.pool, seams.log, client_, *form_, *visible_}, options_.prefix, options_.largest_revision,
                 [this] { note_arrival(); }),
      fence_(client_, reflector_.etcd_key("/fence")),
      barrier_({seams.loop, client_, *this, [this] { return reflector_.compare(); }}, reflector_.etcd_key("/fence"),
               reflector_.etcd_key("/progress")),
      compactor_(seams.loop, client_, options_.compact_every, seams.log),
      scope_(seams.loop) {}

void EtcdStore::note_arrival() {
    if (std::exchange(loads_, reflector_.loads()) != reflector_.loads()) fence_.forget();
    if (limits_.exceeded(history_)) history_full_.set();
}

void EtcdStore::start() {
    open_ = true;
    limits_.mark(loop_.now(), history_.revision());
    scope_.spawn(reflector_.run());
    scope_.spawn(reflector_.notice_silence());
    scope_.spawn(reflector_.notice_loss());
    scope_.spawn(compact_in_time());
    if (options_.compact_every > Duration::zero()) scope_.spawn(compactor_.run());
}

Task<> EtcdStore::introduce() {
    const auto status = co_await client_.status();
    if (is_cancelled(status)) co_return status.error();
    if (!status) co_return {};  // the next call tells
    log_.info("the state is in etcd", {{"member", client_.member_name()},
                                       {"version", status->version},
                                       {"bytes", status->db_size},
                                       {"revision", to_string(history_.revision())}});
    for (const std::string& alarm : status->errors) log_.error("etcd has raised an alarm", {{"alarm", alarm}});
    co_return {};
}

Task<> EtcdStore::close() {
    visible_->close();
    reflector_.close();
    history_full_.set();
    CO_TRY_VOID(co_await barrier_.close());
    CO_TRY_VOID(co_await scope_.close());
    CO_TRY_VOID(co_await client_.close());
    open_ = false;
    co_return {};
}

// Writing

Task<Committed> EtcdStore::commit(Transaction transaction) {
    if (visible_->closing) co_return closing_error();
    for (const Operation& operation : transaction.operations)
        if (const Put* put = std::get_if<Put>(&operation)) CO_TRY_VOID(form_->check_writable(put->key));
    const auto result = std::make_shared<Promise<Committed>>();
    scope_.spawn(write_for(std::move(transaction), result));  // of its own: what has been sent goes on without the caller
    co_return co_await result->wait();
}

Task<> EtcdStore::write_for(Transaction transaction, Caller caller) {
    PendingValues pending;
    Result<Committed> written = co_await write(transaction, caller, pending);
    if (is_cancelled(written)) written = closing_error();
    const bool may_be_stored_later = !written && written.error().reason == Reason::Timeout && !pending.empty();
    if (const auto result = caller.lock()) result->set(std::move(written));
    if (may_be_stored_later) CO_TRY_VOID(co_await until_settled());
    co_return {};
}

/// Until each Txn that was sent before has arrived or cannot be carried out any more.
Task<> EtcdStore::until_settled() {
    while (!visible_->closing) {
        Result<void> settled = co_await fence_.raise(fence_.revision());
        if (settled)
            settled = co_await wait_for_revision(Revision(static_cast<std::uint64_t>(fence_.revision())), Outcomes::LongestArrival);
        if (settled || is_cancelled(settled)) co_return settled;
        CO_TRY_VOID(co_await loop_.sleep(std::chrono::seconds(1)));
    }
    co_return {};
}

Task<Committed> EtcdStore::write(const Transaction& transaction, const Caller& caller, PendingValues& pending) {
    const auto permit = co_await with_timeout(in_flight_.acquire(), Client::PatienceTime, "waiting for earlier writes to etcd");
    if (!permit && permit.error().reason == Reason::Timeout) co_return Error(Reason::ServiceUnavailable, permit.error().message);
    CO_TRY_VOID(permit);
    CO_TRY(TxnRequest request, co_await request_of(transaction, pending));
    if (caller.expired()) co_return cancelled_error();
    const auto sent_after = sent_after_.insert(history_.revision());
    Result<Committed> result = co_await send(transaction, std::move(request), *sent_after);
    sent_after_.erase(sent_after);
    co_return result;
}

Task<Committed> EtcdStore::send(const Transaction& transaction, TxnRequest request, Revision sent_after) {
    const MonotonicTime until = loop_.now() + Client::PatienceTime;
    const Repetition repetition = repetition_of(transaction);
    const bool repeatable = repetition != Repetition::Never;
    const std::size_t loads = reflector_.loads();
    for (bool tried_before = false;;) {
        const std::int64_t fence = fence_.revision();
        request.compare.front() = fence_.compare(fence);
        const auto response = co_await client_.txn_once(request, repeatable && !tried_before ? FirstAttemptTime : LastAttemptTime);
        if (is_cancelled(response)) co_return unknown_outcome(closing_error());
        if (!response) {
            const bool uncertain = response.error().reason == Reason::Timeout;
            if (!uncertain) note_refusal(response.error());
            if (!uncertain && !tried_before) co_return response.error();
            if (!uncertain) co_return unknown_outcome(response.error());
            if (!repeatable || loop_.now() >= until) co_return response.error();
            tried_before = true;
            const auto raised = co_await fence_.raise(fence);
            if (!raised) co_return unknown_outcome(raised.error());
            if (repetition == Repetition::IfNothingHappened)
                CO_TRY_VOID(co_await outcomes_.of_ended_attempts(transaction, sent_after, loads));
        } else if (response->succeeded) {
            note_success(transaction);
            co_return co_await outcomes_.of_success(transaction, *response);
        } else if (response->responses.size() <= transaction.guards.size()) {
            co_return Error(Reason::InternalError, "etcd has refused a transaction without a reason");
        } else if (Fence::revision_of(response->responses.front()) == fence) {
            co_return co_await outcomes_.of_refusal(transaction, *response, sent_after, tried_before);
        } else {
            fence_.learn(Fence::revision_of(response->responses.front()), response->header.revision);
            // Another server has raised the fence. Or what is known is of a newer state: the reflector is about to load the present one.
            const bool is_newer = fence_.revision() != fence;
            const Error why(Reason::ServiceUnavailable, is_newer ? "other servers give up their requests to etcd again and again"
                                                                 : "etcd is in an older state than before");
            if (loop_.now() >= until) co_return tried_before ? unknown_outcome(why) : why;
            if (!is_newer && !co_await loop_.sleep(RestorePause)) co_return tried_before ? unknown_outcome(why) : why;
        }
    }
}

void EtcdStore::note_refusal(const Error& error) {
    if (error.reason == Reason::NotFound) forget_shared_leases();  // the only thing that a Txn can miss
    if (error.reason != Reason::Unknown) return;
    if (!std::exchange(space_exceeded_, true)) log_.error("etcd refuses creates and updates", {{"error", error.message}});
}

void EtcdStore::note_success(const Transaction& transaction) {
    if (!space_exceeded_ || !has_puts(transaction)) return;
    space_exceeded_ = false;
    log_.info("etcd accepts creates and updates again");
}

Compare EtcdStore::compare_of(const Guard& guard) const {
    Compare compare{.target = Compare::Target::Mod, .key = reflector_.etcd_key(guard.key), .mod_revision = 0};
    if (guard.kind == Guard::Kind::Present) compare.result = Compare::Result::Greater;
    if (guard.kind == Guard::Kind::Unchanged) compare.mod_revision = static_cast<std::int64_t>(guard.modified.value);
    return compare;
}

Task<StoredForm::Sealed> EtcdStore::seal(const Put& put) {
    const auto work = [&] { return form_->seal(put.key, {put.value, put.revision_at}); };
    if (!form_->is_slow(put.key)) co_return work();
    co_return co_await run_blocking<StoredForm::Sealed>(pool_, work);
}

Task<TxnRequest> EtcdStore::request_of(const Transaction& transaction, PendingValues& pending) {
    TxnRequest request{.compare = {fence_.compare(0)}, .failure = {fence_.question()}};
    for (const Guard& guard : transaction.guards) {
        request.compare.push_back(compare_of(guard));
        request.failure.push_back({.request_range = RangeRequest{.key = request.compare.back().key, .keys_only = true}});
    }
    for (const Operation& operation : transaction.operations) {
        RequestOp& op = request.success.emplace_back();
        if (const Put* put = std::get_if<Put>(&operation)) {
            CO_TRY(StoredForm::Sealed sealed, co_await seal(*put));
            if (sealed.pending) pending.push_back(std::move(sealed.pending));
            op.request_put = PutRequest{.key = reflector_.etcd_key(put->key),
                                        .value = std::move(sealed.bytes),
                                        .lease = static_cast<std::int64_t>(put->lease.value)};
        } else {
            op.request_delete_range = DeleteRangeRequest{.key = reflector_.etcd_key(std::get<Delete>(operation).key)};
        }
    }
    co_return request;
}

// Leases

Task<LeaseId> EtcdStore::grant_lease(Duration ttl) {
    if (visible_->closing) co_return closing_error();
    const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(ttl).count();
    CO_TRY(const LeaseGrantResponse granted, co_await client_.grant_lease({.ttl = std::max<std::int64_t>(seconds, 1)}));
    if (granted.id == 0) co_return Error(Reason::InternalError, "etcd has granted no lease: " + granted.error);
    co_return LeaseId(static_cast<std::uint64_t>(granted.id));
}

Task<> EtcdStore::keep_alive(LeaseId lease) {
    if (visible_->closing) co_return closing_error();
    CO_TRY(const LeaseKeepAliveResponse kept, co_await client_.keep_lease_alive({.id = static_cast<std::int64_t>(lease.value)}));
    if (kept.ttl <= 0) co_return Error(Reason::NotFound, "lease " + std::to_string(lease.value) + " not found");
    co_return {};
}

Task<> EtcdStore::revoke_lease(LeaseId lease) {
    if (visible_->closing) co_return closing_error();
    CO_TRY_VOID(co_await client_.revoke_lease({.id = static_cast<std::int64_t>(lease.value)}));
    co_return {};
}

// History in memory

Task<> EtcdStore::compact_in_time() {
    while (!visible_->closing) {
        const Result<void> full = co_await with_timeout(history_full_.wait(), limits_.period(), "waiting for history");
        if (!full && full.error().reason != Reason::Timeout) co_return full.error();
        if (visible_->closing) break;
        history_full_.reset();
        CO_TRY_VOID(co_await compact_to(limits_.target(loop_.now(), history_, false)));
        CO_TRY_VOID(co_await loop_.sleep({}));
    }
    co_return {};
}

Task<> EtcdStore::compact_to(Revision target) {
    if (!sent_after_.empty()) target = std::min(target, *sent_after_.begin());
    std::deque<Row> superseded;  // etcd's business
    while (!history_.compact_some(target, CompactionSlice, superseded)) {
        superseded.clear();
        CO_TRY_VOID(co_await loop_.sleep({}));
    }
    co_return {};
}

Task<> EtcdStore::compact(Revision revision) { return compact_to(std::min(revision, history_.revision())); }

}  // namespace

Task<std::unique_ptr<Store>> open_etcd_store(Store::Seams seams, std::vector<Member> members, std::shared_ptr<StoredForm> form,
                                             AttributesOf attributes_of, EtcdStoreOptions options) {
    auto store =
        std::make_unique<EtcdStore>(std::move(seams), std::move(members), std::move(form), std::move(attributes_of), std::move(options));
    Result<void> loaded = co_await store->load();
    if (loaded) loaded = co_await store->introduce();
    if (!loaded) {
        CO_TRY_VOID(co_await store->abandon());
        co_return loaded.error();
    }
    store->start();
    co_return std::unique_ptr<Store>(std::move(store));
}

}  // namespace porthole::store::etcd
