#pragma once
#include "store/store.h"

namespace porthole::store {

/// A store that other servers write to at the same time. Until catch_up(), it may show an older state than another server has acknowledged.
/// A store used by one server only is not a SharedStore, so its readers need not catch up.
class SharedStore : public Store {
public:
    /// Ends once everything is visible that any server had acknowledged when this was called. Concurrent calls share the cost. Errors:
    /// ServiceUnavailable if the newest revision cannot be read, and when closing; Timeout ("Too large resource version: 9, current: 5") if
    /// it does not arrive.
    virtual Task<> catch_up() = 0;

protected:
    using Store::Store;
};

}  // namespace porthole::store
