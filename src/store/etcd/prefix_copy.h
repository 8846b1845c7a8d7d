#pragma once
#include <functional>
#include <string>
#include <vector>

#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Fills an empty prefix of an etcd with a copy of a store. A partial copy is never taken for a complete one: while a copy is made, a mark
/// exists below the prefix, and servers refuse to start while they find it. The mark names the source, so that an unfinished copy of the
/// same source is recognized and started again. Each Txn compares the mark's mod revision: of two concurrent copies the first one fails.
///
/// Lives on the client's loop. Errors, in addition to those of Client: Conflict if another copy has begun since.
class PrefixCopy {
public:
    /// Of one Txn: etcd's defaults, with room for the rest of the request.
    static constexpr std::size_t MostKeys = 120, MostBytes = 1 << 20;

    /// `client` must outlive it. `prefix` has no trailing slash; `mark_key` is a key below it; `source` names the source.
    PrefixCopy(Client& client, std::string prefix, std::string mark_key, std::string source);

    /// Writes the mark and deletes the keys of an unfinished copy of the same source. Error: AlreadyExists if there are other keys.
    Task<> begin();
    /// Etcd's revision, as last seen.
    std::int64_t revision() const { return revision_; }
    /// Writes until revision() is at least `target`: etcd has no way other than one write per revision. `progress` is called from time to
    /// time.
    Task<> raise_revision(std::int64_t target, std::function<void()> progress);
    /// Writes `puts` at one revision. Requires: at most MostKeys, and at most MostBytes unless it is a single key.
    Task<> put(std::vector<PutRequest> puts);
    /// Removes the mark: the copy is complete.
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
