#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers::daemon {

using api::core::v1::Node;
using api::core::v1::PodSpec;

/// What a daemon's pod endures although nobody has said so: its node may be in trouble, that is where daemons are wanted.
void add_daemon_tolerations(PodSpec& spec);
/// Binds the pod's choice to one node by name; whatever required terms it had said are about other nodes.
void pin_to_node(PodSpec& spec, const std::string& node);
/// The node that a pod is for, bound or not; "" when it is pinned to none.
std::string node_of(const PodSpec& spec);

struct Fit {
    bool should_run = false;       ///< a pod is wanted there
    bool should_continue = false;  ///< one that is there may stay
};
/// `spec` with the daemon's tolerations.
Fit fit(const PodSpec& spec, const Node& node);

}  // namespace porthole::controllers::daemon
