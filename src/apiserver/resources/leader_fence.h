#pragma once
#include <string>

#include "runtime/task.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Refuses a component's writes once a Lease names another holder: a former leader may not know it yet, and requests that it has sent may
/// still arrive.
///
/// Each write is guarded by the version of the Lease that names the component, as this server sees it, so that the store decides at the
/// moment of the write. A leader renews its Lease every few seconds; a write that conflicts with a renewal is repeated with the new
/// version. It protects against every other candidate, including upstream's, since all leaders have written that Lease. Lives on the
/// store's loop.
///
/// Example: A holds the Lease at version 7 and sends a write guarded by 7. B takes the Lease, at 8, and begins to work. A's write arrives
/// and is refused; so is every later write of A, whether guarded by 7 or because this server has seen 8.
class LeaderFence {
public:
    LeaderFence(const std::string& namespace_, const std::string& name, std::string holder);

    /// Errors: ServiceUnavailable, with nothing done, if the Lease does not name the holder; as Store::commit().
    Task<store::Committed> commit(store::Store& store, store::Transaction transaction) const;

private:
    bool names_holder(const store::Record& lease) const;

    const std::string key_, holder_;
};

}  // namespace porthole::apiserver
