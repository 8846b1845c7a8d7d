#pragma once  // private to this folder
#include "store/history.h"
#include "store/transaction.h"

namespace porthole::store::etcd {

/// Whether a transaction may be sent again after an attempt whose outcome is unknown and that a fence has ended.
enum class Repetition {
    Never,
    IfNothingHappened,  ///< it creates or deletes: what it did can have been undone since, so that it would do it again
    Always,             ///< it changes a version of a key, which can be done once
};
Repetition repetition_of(const Transaction& transaction);

/// What the history after `after` says of keys that the transaction guards or writes: "", or what has happened to one of them.
std::string change_since(const History& history, const Transaction& transaction, Revision after);

}  // namespace porthole::store::etcd
