#pragma once
#include <string>
#include <vector>

#include "hns/assumptions/assumptions.h"
#include "hns/hns.h"
#include "runtime/event_loop.h"

namespace porthole::hns {

/// What a service answered to the calls of an assumption.
struct Finding {
    enum class Outcome { AsAssumed, Differs, NotRun };

    Outcome outcome = Outcome::NotRun;
    /// What is different, for people: "query net: shows {...} instead of {...}". Of NotRun: the reason.
    std::vector<std::string> differences;
    /// The calls with what was found in place of what was assumed; those after a call that made nothing to go on with are left out.
    std::vector<AssumedCall> observed;
};

/// Puts the calls to the service one after the other and removes what they made, whatever they answered. `adapter` is the host's adapter
/// for those that need one, "" for none. Borrows `hns` and `loop` until it has ended. Error: Cancelled; Unavailable when the service has
/// gone: objects may be left behind.
Task<Finding> check(EventLoop& loop, Hns& hns, Assumption assumption, std::string adapter);

}  // namespace porthole::hns
