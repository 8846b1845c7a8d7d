#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/framework/node_info.h"

namespace porthole::scheduler {

/// Plugins by their position in the list.
using PluginSet = std::uint64_t;
constexpr std::size_t MostPlugins = 64;  // in a list
constexpr PluginSet only(std::size_t position) { return PluginSet{1} << position; }

/// Why no node took a pod.
struct Diagnosis {
    std::size_t node_count = 0;
    std::string error;                                         ///< of a filter that found the pod itself at fault; "" for none
    std::string pre_filter_message;                            ///< set if the cycle ended before filtering nodes
    std::vector<std::pair<std::string, std::size_t>> reasons;  ///< reason and number of nodes
    PluginSet rejected_by = 0;
    std::vector<const NodeInfo*> resolvable_nodes;  ///< where preemption may help, in the order of looking

    /// "0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods."
    std::string text() const;
};

/// "0/N nodes are available: " and the counted reasons, sorted as texts; ends with a full stop.
std::string nodes_available_text(std::size_t node_count, const std::vector<std::pair<std::string, std::size_t>>& reasons);

}  // namespace porthole::scheduler
