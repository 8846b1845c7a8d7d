#pragma once  // private to this folder
#include <string>

#include "runtime/sync.h"
#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Prevents pending Txns from taking effect later. Every Txn of a store compares the mod revision of one key, the fence. Raising the fence
/// writes the key, so that every Txn that was sent before and has not been executed by then fails its comparison for good, and can safely
/// be sent again with the new revision. All servers of a prefix share the key; a Txn that finds another revision than expected has had no
/// effect.
///
/// Example: a member hangs with a Txn that creates a key, and is given up. The fence is raised, the Txn is sent to another member and
/// creates the key, and someone deletes the key. The first member continues: its Txn fails the comparison and does not restore the key.
class Fence {
public:
    Fence(Client& client, std::string etcd_key) : client_(client), key_(std::move(etcd_key)) {}

    /// The comparison for a Txn: the fence is at `revision`.
    Compare compare(std::int64_t revision) const;
    /// Reads the fence's revision, for the case that the comparison fails.
    RequestOp question() const { return {.request_range = RangeRequest{.key = key_, .keys_only = true}}; }
    /// The revision in the answer to question().
    static std::int64_t revision_of(const ResponseOp& answer);

    /// The last known revision; 0 before the fence was raised for the first time.
    std::int64_t revision() const { return revision_; }
    /// Takes the revision from an answer at etcd's revision `at`; answers may come in any order.
    void learn(std::int64_t revision, std::int64_t at);
    /// Forgets the revision, because etcd was replaced or restored to an older state.
    void forget() { revision_ = learned_at_ = 0; }
    /// When it ends, no pending Txn with the revision `used` can take effect any longer. Errors: those of Client.
    Task<> raise(std::int64_t used);

private:
    Client& client_;
    const std::string key_;
    std::int64_t revision_ = 0, learned_at_ = 0;
    Semaphore turn_{1};
};

}  // namespace porthole::store::etcd
