#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers::daemon {

using api::core::v1::Node;
using api::core::v1::PodSpec;

/// Adds the tolerations of every daemon pod, so that it runs on nodes that are not ready, under pressure or cordoned.
void add_daemon_tolerations(PodSpec& spec);
/// Restricts the pod to one node by name, which replaces its required node affinity.
void pin_to_node(PodSpec& spec, const std::string& node);
/// The node that a pod is for, bound or not; "" if it is pinned to none.
std::string node_of(const PodSpec& spec);

/// Whether a daemon's pod should run, or continue to run, on a node.
struct Fit {
    bool should_run = false;       ///< a pod is wanted there
    bool should_continue = false;  ///< one that is there may stay
};
/// `spec` with the daemon's tolerations.
Fit fit(const PodSpec& spec, const Node& node);

}  // namespace porthole::controllers::daemon
