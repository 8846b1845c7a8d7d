#pragma once
#include <string>

#include "runtime/task.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Refuses what a component wants to write once a Lease names another holder: a leader that was deposed may not know it yet, and what it
/// has sent may still be on its way.
///
/// Each write is guarded by the version of the Lease that names the component, as this server sees it, so that the store decides at the
/// moment of the write. A leader renews its Lease every few seconds: a write that was overtaken by this is sent again with the new version.
/// It holds against every other candidate, upstream's included, since all that lead have written that Lease. Lives on the store's loop.
///
/// Example: A holds the Lease at version 7 and sends a write guarded by 7. B takes the Lease, at 8, and begins to work. A's write arrives
/// and is refused; and each that A begins later, by 7 or because it has seen 8.
class LeaderFence {
public:
    LeaderFence(const std::string& namespace_, const std::string& name, std::string holder);

    /// Errors: ServiceUnavailable when the Lease does not name the holder, with nothing done; as Store::commit().
    Task<store::Committed> commit(store::Store& store, store::Transaction transaction) const;

private:
    bool names_holder(const store::Record& lease) const;

    const std::string key_, holder_;
};

}  // namespace porthole::apiserver
