#pragma once
#include <functional>
#include <string>
#include <vector>

#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Fills an empty prefix of an etcd with a copy of a store, so that a part of one is never taken for a whole: while a copy is being made,
/// a mark lies below the prefix, at which servers refuse to start. It says what is copied, so that a copy of the same that has stopped
/// half-way is recognised, and begun again. Each Txn compares the mark's mod revision: of two copies at the same time the first one fails.
///
/// Lives on the client's loop. Errors, next to those of Client: Conflict where another copy has begun meanwhile.
class PrefixCopy {
public:
    /// Of one Txn: what an etcd takes unless it is told otherwise, with room for the rest of the request.
    static constexpr std::size_t MostKeys = 120, MostBytes = 1 << 20;

    /// `client` must outlive it. `prefix` is without a slash at its end; `mark_key` is a key below it; `source` is what is copied.
    PrefixCopy(Client& client, std::string prefix, std::string mark_key, std::string source);

    /// Lays the mark; keys of an unfinished copy of the same source are deleted. Error: AlreadyExists where there are others.
    Task<> begin();
    /// Of etcd, as far as seen.
    std::int64_t revision() const { return revision_; }
    /// Until revision() is at least `target`: etcd has no other way than one write for each. `progress` is called now and then.
    Task<> raise_revision(std::int64_t target, std::function<void()> progress);
    /// Writes `puts` at one revision. Requires: at most MostKeys, and MostBytes unless it is one key.
    Task<> put(std::vector<PutRequest> puts);
    /// Removes the mark: the copy is whole.
    Task<> finish();

private:
    Task<TxnResponse> write(std::vector<RequestOp> operations);
    Task<> raise_some(std::int64_t target, const std::function<void()>& progress);
    Task<KeyValue> find_mark();
    Task<> lay_mark(std::int64_t marked_at);
    RequestOp removal(std::string from, std::string end) const;

    Client& client_;
    const std::string prefix_, mark_key_, source_;
    std::int64_t marked_at_ = 0, revision_ = 0;
};

}  // namespace porthole::store::etcd
