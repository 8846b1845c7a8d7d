#include "apiserver/resources/leader_fence.h"

#include "api/coordination_v1.h"
#include "apiserver/storage/keys.h"
#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

/// A renewal is one write every few seconds, so that a second attempt meets another one hardly ever.
constexpr int Attempts = 5;

}  // namespace

LeaderFence::LeaderFence(const std::string& namespace_, const std::string& name, std::string holder)
    : key_(object_key(api::coordination::v1::Lease::kind(), namespace_, name)), holder_(std::move(holder)) {}

bool LeaderFence::names_holder(const store::Record& lease) const {
    const auto tree = schema::parse_json(*lease.value.bytes());
    return tree && tree->string_at({"spec", "holderIdentity"}) == holder_;
}

Task<store::Committed> LeaderFence::commit(store::Store& store, store::Transaction transaction) const {
    for (int attempt = 1;; ++attempt) {
        const store::RecordPtr lease = store.get(key_);
        if (!lease || !names_holder(*lease))
            co_return Error(Reason::ServiceUnavailable, holder_ + " is no longer the leader: nothing was done");
        store::Transaction guarded = transaction;
        // The first: a refusal that is told is that of the first guard that does not hold.
        guarded.guards.insert(guarded.guards.begin(), store::Guard::unchanged(lease->key, lease->modified));
        auto committed = co_await store.commit(std::move(guarded));
        if (committed || attempt == Attempts) co_return committed;
        const bool refused = committed.error().reason == Reason::Conflict || committed.error().reason == Reason::NotFound;
        const store::RecordPtr now = store.get(key_);  // what refused the transaction is visible
        if (!refused || (now && now->modified == lease->modified)) co_return committed;
    }
}

}  // namespace porthole::apiserver
