#pragma once
#include <string>

#include "runtime/event_loop.h"

namespace porthole::schema {
class Value;
}

namespace porthole::local_cluster {

/// How far a node is on its way to Ready, as its Node object says it.
struct NodeProgress {
    bool ready = false;
    std::string waits_for;  ///< the message of the condition Ready; what is missing where there is none
    std::string state;      ///< differs as the node gets on; a heartbeat does not change it
};

NodeProgress progress_of(const schema::Value& node);

/// The end of a wait for something that shows how far it is: when it has not moved for a while, so that a slow machine may take the time
/// that it needs, and at the latest after the whole time, so that what moves in a circle ends too.
class ProgressLimit {
public:
    /// `still` < `whole`.
    ProgressLimit(MonotonicTime start, Duration still, Duration whole) : changed_(start), end_(start + whole), still_(still) {}

    /// `state`: all that is seen of it at `now`. Each change is progress.
    bool is_passed(MonotonicTime now, const std::string& state);

private:
    MonotonicTime changed_, end_;
    Duration still_;
    std::string state_;
};

}  // namespace porthole::local_cluster
