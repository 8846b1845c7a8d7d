#pragma once
#include "base/result.h"
#include "store/transaction.h"

namespace porthole::store {

/// The present state of a guard's key.
struct KeyState {
    bool exists = false;
    Revision modified;
};

bool holds(const Guard& guard, const KeyState& state);
/// The error for a transaction whose guard does not hold: AlreadyExists, NotFound or Conflict.
Error refusal_of(const Guard& guard, const KeyState& state);

}  // namespace porthole::store
