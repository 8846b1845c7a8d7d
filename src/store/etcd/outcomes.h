#pragma once  // private to this folder
#include "runtime/event_loop.h"
#include "store/etcd/fence.h"
#include "store/etcd/reflector.h"
#include "store/guard_check.h"
#include "store/store.h"
#include "store/transaction.h"

namespace porthole::store::etcd {

bool has_puts(const Transaction& transaction);
/// For a transaction that was sent more than once, or cannot be sent again.
Error unknown_outcome(const Error& error);

/// Determines the outcome of a transaction from etcd's answer to its Txn and from the watch. The result is returned once readers see the
/// state that it refers to; if the watch does not deliver that state, it is restarted. Lives on the store's loop; everything referred to
/// outlives it.
class Outcomes {
public:
    /// How long an acknowledged revision may take to arrive, in total.
    static constexpr Duration LongestArrival = std::chrono::seconds(15);

    struct Seams {
        Store& store;
        VisibleState& visible;
        Reflector& reflector;
        const Fence& fence;
    };
    explicit Outcomes(Seams seams) : seams_(seams) {}

    /// For an executed Txn. Error: Timeout if its revision does not become visible.
    Task<Committed> of_success(const Transaction& transaction, const TxnResponse& response) const;
    /// For a Txn that was refused because of a guard, whose answer begins with the answer to the fence's question. `sent_after`: the
    /// visible revision when it was first sent; `tried_before`: an earlier attempt may have been executed. Always an error.
    Task<Committed> of_refusal(const Transaction& transaction, const TxnResponse& response, Revision sent_after, bool tried_before) const;
    /// For earlier attempts, which the fence has ended: success if none of them had an effect. `loads`: the reflector's count when the
    /// first was sent. Error: Timeout if one of them may have been executed.
    Task<> of_ended_attempts(const Transaction& transaction, Revision sent_after, std::size_t loads) const;

private:
    /// Waits for etcd's newest state. Error: Timeout.
    template <class Wait>
    Task<> until_delivered(Wait wait, Revision revision) const;
    Task<> until_visible(std::string key, KeyState state, Revision asked) const;
    Result<Committed> committed_at(const Transaction& transaction, const TxnResponse& response, Revision revision) const;

    const Seams seams_;
};

}  // namespace porthole::store::etcd
