#pragma once
#include <string>
#include <vector>

#include "hns/assumptions/assumptions.h"
#include "hns/hns.h"
#include "runtime/event_loop.h"

namespace porthole::hns {

/// The service's answers to the calls of an assumption.
struct Finding {
    enum class Outcome { AsAssumed, Differs, NotRun };

    Outcome outcome = Outcome::NotRun;
    /// The differences, for people: "query net: shows {...} instead of {...}". Of NotRun: the reason.
    std::vector<std::string> differences;
    /// The calls with the actual answers in place of the assumed ones; calls that could not be made because an earlier one failed are left
    /// out.
    std::vector<AssumedCall> observed;
};

/// Makes the calls one after the other, then removes the objects that they created, whatever the answers. `adapter` is the host's adapter
/// for calls that need one, "" for none. Borrows `hns` and `loop` until it has ended. Error: Cancelled; Unavailable if the service is gone:
/// objects may be left behind.
Task<Finding> check(EventLoop& loop, Hns& hns, Assumption assumption, std::string adapter);

}  // namespace porthole::hns
