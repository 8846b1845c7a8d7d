#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/decisions/decision.h"
#include "schema/value.h"

namespace porthole::scheduler::testing {

/// A pod that upstream's scheduler has decided about.
struct Recorded {
    std::string cluster;
    std::shared_ptr<const schema::Value> objects;  ///< of the cluster: an array; objects without a uid have their name for it
    schema::Value pod;
    NodeDecision decision;

    /// "cluster: pod"
    std::string name() const;
};

/// The content of a file that tests/scheduler_decisions/record has written.
struct Recording {
    std::map<std::string, std::int64_t, std::less<>> weights;  ///< of upstream's plugins
    std::vector<Recorded> decisions;
};
/// A malformed file ends the test.
Recording read_recording(const std::string& path);

}  // namespace porthole::scheduler::testing
