#pragma once
#include "store/store.h"

namespace porthole::store {

/// A store that other servers write to at the same time. What it shows may be older than what another one has acknowledged, until
/// catch_up(). A store of one server alone is none, so that its readers have nothing to ask.
class SharedStore : public Store {
public:
    /// Ends when all is visible that any server had acknowledged when this was called. Those who wait at the same time share the cost.
    /// Errors: ServiceUnavailable when the newest revision cannot be asked for, and when closing; Timeout ("Too large resource version: 9,
    /// current: 5") when it does not arrive.
    virtual Task<> catch_up() = 0;

protected:
    using Store::Store;
};

}  // namespace porthole::store
