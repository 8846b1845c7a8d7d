#pragma once  // private to this folder
#include "store/history.h"
#include "store/transaction.h"

namespace porthole::store::etcd {

/// Whether a transaction may be sent again after an attempt whose outcome is unknown and that a fence has ended.
enum class Repetition {
    Never,
    IfNothingHappened,  ///< it creates or deletes: its effect may have been undone since, so a second attempt could repeat it
    Always,             ///< it changes a version of a key, which can happen only once
};
Repetition repetition_of(const Transaction& transaction);

/// What happened after `after` to a key that the transaction guards or writes, according to the history; "" if nothing did.
std::string change_since(const History& history, const Transaction& transaction, Revision after);

}  // namespace porthole::store::etcd
