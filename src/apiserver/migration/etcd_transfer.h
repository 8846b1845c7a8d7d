#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apiserver/migration/manifest.h"
#include "apiserver/migration/transfer_form.h"
#include "runtime/event_loop.h"
#include "runtime/worker_pool.h"
#include "store/etcd/client.h"

namespace porthole::store::etcd {
class PrefixCopy;
}

namespace porthole::apiserver {

/// All current records of a store as of one moment, in the embedded engine's form. A plain value.
struct StoreState {
    std::vector<store::Row> rows;  ///< ascending revision and index; a lease is a record before those that name it
    store::Revision revision;      ///< the newest that readers may have seen
    Manifest manifest;             ///< without leases
    std::size_t left_out = 0;      ///< keys of an etcd that are not the state of a cluster
};

/// Adds a row from the embedded engine. Requires: ascending revision and index, no deletion. Errors: those of TransferForm::plain().
Result<void> add_row(StoreState& state, const TransferForm& form, store::Row row);

/// Reads the state below a prefix of an etcd, or writes it. Lives on the loop; references outlive it. Errors, in addition to those listed:
/// those of etcd::Client.
class EtcdTransfer {
public:
    struct Seams {
        EventLoop& loop;
        WorkerPool& pool;
        store::etcd::Client& client;
        const TransferForm& form;
    };
    /// Called now and then: how much of how much is done.
    using Progress = std::function<void(std::size_t done, std::size_t all)>;

    explicit EtcdTransfer(Seams seams, Progress progress = {});

    /// A lease's record contains its remaining time. Errors: NotFound if there are no records, AlreadyExists for an unfinished copy, those
    /// of TransferForm.
    Task<StoreState> read();
    /// Error: Conflict if someone has written below the prefix since `state` was read.
    Task<> check_unchanged(const StoreState& state);

    /// By how much etcd's revision may have to be raised: each step is a write.
    static constexpr std::uint64_t MostRaised = 1'000'000;
    /// Fills the empty prefix, then compares it with `state`; `source` names the source, see PrefixCopy. Each record gets a revision beyond
    /// state.revision, unless `may_be_lower`, and each lease its full time. Returns the state as it is in etcd. Errors: AlreadyExists,
    /// Conflict, those of TransferForm; BadRequest, with nothing written, if the revision is too far away.
    Task<StoreState> write(const StoreState& state, std::string source, bool may_be_lower);

private:
    Task<StoreState> read_state(bool may_be_unfinished);
    /// Reads the remaining time of the leases of `stored`, in nanoseconds as in LeaseTable. Expired ones have 0.
    Task<> ask_leases(const std::vector<store::etcd::KeyValue>& stored);
    Result<void> take(std::vector<store::etcd::KeyValue> stored, StoreState& state) const;
    Result<void> put_in_order(StoreState& state) const;

    Task<StoreState> fill(store::etcd::PrefixCopy& copy, const StoreState& state, bool may_be_lower);
    Task<> check_distance(const StoreState& state);
    Task<> raise(store::etcd::PrefixCopy& copy, std::int64_t target);
    Task<> write_rows(store::etcd::PrefixCopy& copy, const StoreState& state);
    Task<std::int64_t> new_lease(store::LeaseId lease, std::uint64_t time_left);
    void report(std::size_t done, std::size_t all) const;

    const Seams seams_;
    const Progress progress_;
    std::map<std::int64_t, std::uint64_t> time_left_;  ///< of leases in etcd
    std::map<store::LeaseId, std::int64_t> granted_;   ///< in etcd, for those of the state being written
};

}  // namespace porthole::apiserver
