#pragma once
#include <map>
#include <set>
#include <string>

#include "api/coordination_v1.h"
#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// When each node last sent a heartbeat, by the clock of this program: nodes' own clocks are only compared with themselves.
class Heartbeats {
public:
    /// A renewed lease or a newer status counts as a heartbeat now, and so does the first observation of a node. `lease` may be nullptr.
    void observe(const api::core::v1::Node& node, const api::coordination::v1::Lease* lease, MonotonicTime now);
    /// Requires: the node was observed.
    Duration silence(const std::string& node, MonotonicTime now) const { return now - seen_.at(node).heard; }
    /// Acts as if every node had sent a heartbeat now.
    void forgive(MonotonicTime now);
    void keep_only(const std::set<std::string>& nodes);

private:
    struct Seen {
        MonotonicTime heard;
        MicroTimestamp renewed;
        Timestamp reported;
    };
    std::map<std::string, Seen> seen_;
};

/// Turns to Unknown the conditions that only a node's own kubelet reports. False when they are so already.
bool mark_silent(api::core::v1::Node& node, SystemTime now);

}  // namespace porthole::controllers
