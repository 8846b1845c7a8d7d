#pragma once
#include <string>

#include "runtime/event_loop.h"

namespace porthole::schema {
class Value;
}

namespace porthole::local_cluster {

/// A node's progress towards Ready, from its Node object.
struct NodeProgress {
    bool ready = false;
    std::string waits_for;  ///< the message of the condition Ready, or what is missing if there is none
    std::string state;      ///< differs as the node gets on; of the heartbeats, only the first one since `since` changes it
};

/// What the kubelet reported before `since` does not count: the Node object outlives the kubelet, with the conditions of its last run.
NodeProgress progress_of(const schema::Value& node, SystemTime since);

/// The time limit of a wait with visible progress: it passes if there was no progress for a while, so that a slow machine may take as long
/// as it needs, and at the latest after the total time, so that a repeating state ends too.
class ProgressLimit {
public:
    /// `still` < `whole`.
    ProgressLimit(MonotonicTime start, Duration still, Duration whole) : changed_(start), end_(start + whole), still_(still) {}

    /// `state`: everything observed at `now`. Each change counts as progress.
    bool is_passed(MonotonicTime now, const std::string& state);

private:
    MonotonicTime changed_, end_;
    Duration still_;
    std::string state_;
};

}  // namespace porthole::local_cluster
