#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "api/core_v1.h"
#include "windows/runtime.h"

namespace porthole::windows {

namespace core = api::core::v1;

/// Which systems the nodes of a cluster run.
struct Systems {
    bool linux = false, windows = false;
};

/// The label of Windows nodes that has their build: "10.0.20348".
inline constexpr std::string_view BuildLabel = "node.kubernetes.io/windows-build";

/// The nodes of which none took a pod.
struct NodeSummary {
    Systems systems;
    std::set<std::string, std::less<>> builds;  ///< values of BuildLabel
    /// Nodes refused the pod because of taints, and each Windows node that it selects has a taint, other than for its condition, that it
    /// does not tolerate.
    bool windows_repels = false;
};

/// The network between the pods of different nodes.
enum class PodNetwork : std::uint8_t { Unknown, L2Bridge, Overlay };

/// What is known about the nodes that an object is for.
struct Conditions {
    Systems systems;
    std::uint32_t build = 0;  ///< of Windows; 0 if unknown
    PodNetwork network = PodNetwork::Unknown;
    Runtime runtime;
};

/// The system required by a pod's spec.os.name, its selector or its required affinity; "" if there is none.
std::string_view system_asked_for(const core::PodSpec& spec);

/// The system required by its selector or its required affinity; "" if there is none.
std::string_view selected_system(const core::PodSpec& spec);

/// Whether the pod can only be placed on nodes of the system in spec.os.name.
bool selects_its_system(const core::PodSpec& spec);

}  // namespace porthole::windows
