#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace porthole::scheduler::testing {

/// Why filters turned a node down.
struct Verdict {
    std::string plugin;
    bool resolvable = true;            ///< Unschedulable, not UnschedulableAndUnresolvable
    std::vector<std::string> reasons;  ///< sorted: upstream's come in any order
};

/// A node that preemption chose, and "namespace/name" of the pods that it evicted.
struct Nomination {
    std::string node;
    std::vector<std::string> victims;  ///< sorted; without those that are leaving already
    bool operator==(const Nomination&) const = default;
};

/// What a scheduler has decided about a pod.
struct NodeDecision {
    std::map<std::string, Verdict> rejected;                            ///< by node
    std::vector<std::string> feasible;                                  ///< the nodes that passed, sorted
    std::map<std::string, std::map<std::string, std::int64_t>> scores;  ///< by plugin and node, normalized; of two nodes or more
    std::string message;                                                ///< of the event; "" if there is a node
    bool is_error = false;                                              ///< the message is that of an error
    std::vector<Nomination> nominations;                                ///< of those that are equally good, upstream takes any
};

}  // namespace porthole::scheduler::testing
