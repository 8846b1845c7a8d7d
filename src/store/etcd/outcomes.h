#pragma once  // private to this folder
#include "runtime/event_loop.h"
#include "store/etcd/fence.h"
#include "store/etcd/reflector.h"
#include "store/guard_check.h"
#include "store/store.h"
#include "store/transaction.h"

namespace porthole::store::etcd {

bool has_puts(const Transaction& transaction);
/// Of a transaction that was sent more than once, or cannot be sent again.
Error unknown_outcome(const Error& error);

/// What comes of a transaction, from etcd's answer to its Txn and from what the watch brings. The answer is given when readers see what it
/// is about; where the watch does not bring that, it is begun again. Lives on the store's loop; what it refers to outlives it.
class Outcomes {
public:
    /// How long a revision that etcd has acknowledged may take to arrive in all.
    static constexpr Duration LongestArrival = std::chrono::seconds(15);

    struct Seams {
        Store& store;
        VisibleState& visible;
        Reflector& reflector;
        const Fence& fence;
    };
    explicit Outcomes(Seams seams) : seams_(seams) {}

    /// Of a Txn that was carried out. Error: Timeout where its revision does not become visible.
    Task<Committed> of_success(const Transaction& transaction, const TxnResponse& response) const;
    /// Of one that was refused for a guard, whose answer begins with that to the fence's question. `sent_after`: what was visible when it
    /// was sent first; `tried_before`: an attempt before this one may have been carried out. Always an error.
    Task<Committed> of_refusal(const Transaction& transaction, const TxnResponse& response, Revision sent_after, bool tried_before) const;
    /// Of earlier attempts, which the fence has ended: nothing. `loads`: the reflector's when the first was sent. Error: Timeout where one
    /// of them may have been carried out.
    Task<> of_ended_attempts(const Transaction& transaction, Revision sent_after, std::size_t loads) const;

private:
    /// Waits for what etcd has. Error: Timeout.
    template <class Wait>
    Task<> until_delivered(Wait wait, Revision revision) const;
    Task<> until_visible(std::string key, KeyState state, Revision asked) const;
    Result<Committed> committed_at(const Transaction& transaction, const TxnResponse& response, Revision revision) const;

    const Seams seams_;
};

}  // namespace porthole::store::etcd
