#pragma once
#include "base/time/time.h"
#include "runtime/event_loop.h"
#include "store/store.h"
#include "windows/support.h"

namespace porthole::apiserver {

/// Which operating systems the cluster's nodes have, by their labels. Used for every pod; the result may be a second old. Lives on the
/// store's loop; references must outlive it.
class NodeSystems {
public:
    NodeSystems(const store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}
    windows::Systems operator()();

private:
    windows::Systems read() const;

    const store::Store& store_;
    const Clock& clock_;
    std::optional<MonotonicTime> read_at_;
    windows::Systems known_;
};

}  // namespace porthole::apiserver
