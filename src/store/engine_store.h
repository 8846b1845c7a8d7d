#pragma once  // private to this folder
#include <deque>

#include "runtime/scope.h"
#include "store/history_limits.h"
#include "store/lease_table.h"
#include "store/store.h"
#include "store/visible_state.h"
#include "store/write_group.h"

namespace porthole::store {

/// A store of one server, which assigns revisions itself. Writes are checked on the loop, made durable in groups by one worker, then shown
/// to readers and watchers in order, then acknowledged. Owns the engine. Leases are records of the store (LeaseTable).
class EngineStore final : public Store {
public:
    EngineStore(Seams seams, std::unique_ptr<Engine> engine, AttributesOf attributes_of, Options options);
    /// Reads all rows of the engine, on the calling thread. Call before start(). Error: as Engine::load().
    Result<void> load();
    void start();

    Usage usage() const override;
    void enforce_quota(bool enforced) override { quota_enforced_ = enforced; }
    bool is_stale(std::string_view key) const override { return engine_->is_stale(key); }
    Task<Committed> commit(Transaction transaction) override;
    Task<LeaseId> grant_lease(Duration ttl) override;
    Task<> keep_alive(LeaseId lease) override;
    Task<> revoke_lease(LeaseId lease) override;
    Task<> compact(Revision revision) override;
    /// Also closes the engine.
    Task<> close() override;

private:
    struct Pending {
        Transaction transaction;
        Promise<Committed> result;
    };
    using PendingPtr = std::shared_ptr<Pending>;

    bool has_lease(LeaseId lease) const override { return leases_.contains(lease); }

    Task<> write_groups();
    Task<> wait_for_company();
    Task<> write_group();
    std::vector<PendingPtr> form_group(WriteGroup& group);
    void publish(WriteGroup& group, const std::vector<PendingPtr>& members);
    Committed publish_member(WriteGroup& group, WriteGroup::Member& member);

    Task<> compact_in_time();
    Task<> compact_to(Revision target);
    Task<> forget_superseded();
    Task<> checkpoint();

    bool within_quota(const Transaction& transaction) const;
    void watch_quota();

    Task<> end_leases();
    Task<> revoke(LeaseId lease);
    void arm_lease_timer();

    History& history_ = visible_->history;
    WorkerPool& pool_;
    Logger log_;
    const std::unique_ptr<Engine> engine_;
    const Options options_;
    HistoryLimits limits_;

    std::deque<PendingPtr> queue_;
    porthole::Event work_, urgent_work_;
    Semaphore engine_turn_{1};  // append and compact never overlap
    bool write_failed_ = false, quota_exceeded_ = false, quota_enforced_ = true;
    bool checkpointing_ = false;

    std::deque<Row> superseded_;  // rows that the engine may delete, oldest first
    porthole::Event history_full_;

    LeaseTable leases_;
    porthole::Event lease_due_;
    TimerId lease_timer_{};
    MonotonicTime lease_timer_at_ = MonotonicTime::max();

    Scope scope_;
};

}  // namespace porthole::store
