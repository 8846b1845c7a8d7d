#pragma once
#include "base/result.h"
#include "store/transaction.h"

namespace porthole::store {

/// What a guard is about, as it is.
struct KeyState {
    bool exists = false;
    Revision modified;
};

bool holds(const Guard& guard, const KeyState& state);
/// What a transaction is refused with whose guard does not hold: AlreadyExists, NotFound or Conflict.
Error refusal_of(const Guard& guard, const KeyState& state);

}  // namespace porthole::store
