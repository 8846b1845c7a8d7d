#pragma once  // private to this folder
#include <string>

#include "runtime/sync.h"
#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// Makes harmless what may still be carried out. Every Txn of a store compares the mod revision of one key, the fence. Raising it writes
/// the key, so that each Txn that was sent before and has not been carried out by then refuses itself, for ever: it can be sent again, with
/// the new revision. All servers of a prefix share the key; who meets another revision than expected has had nothing carried out.
///
/// Example: a member that stands still has a Txn that creates a key, and is given up. The fence is raised, the Txn is sent to another
/// member, creates the key, and someone deletes it. The member goes on: its Txn refuses itself, and does not bring the key back.
class Fence {
public:
    Fence(Client& client, std::string etcd_key) : client_(client), key_(std::move(etcd_key)) {}

    /// That it is at `revision`, and the question at which it is if it is not.
    Compare compare(std::int64_t revision) const;
    RequestOp question() const { return {.request_range = RangeRequest{.key = key_, .keys_only = true}}; }
    /// What the question was answered.
    static std::int64_t revision_of(const ResponseOp& answer);

    /// As far as known; 0 before it was raised for the first time.
    std::int64_t revision() const { return revision_; }
    /// From an answer at etcd's revision `at`; answers come in any order.
    void learn(std::int64_t revision, std::int64_t at);
    /// The etcd is another one, or in an older state.
    void forget() { revision_ = learned_at_ = 0; }
    /// What was sent with the revision `used` will not be carried out from then on. Errors: those of Client.
    Task<> raise(std::int64_t used);

private:
    Client& client_;
    const std::string key_;
    std::int64_t revision_ = 0, learned_at_ = 0;
    Semaphore turn_{1};
};

}  // namespace porthole::store::etcd
