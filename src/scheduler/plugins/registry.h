#pragma once
#include <span>

#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

/// A line of plugins.def.
struct PluginEntry {
    std::string_view name;
    PointSet points;

    bool has(Point point) const { return (points & bit(point)) != 0; }
};

/// In the order of their filters: for each node the first that turns it down ends the chain.
std::span<const PluginEntry> plugin_entries();

/// With arguments that all differ, they need no more than MostPlugins plugins.
inline constexpr std::size_t MostProfiles = 9;

/// The plugins of all profiles of a configuration, and what each profile calls.
struct ConfiguredPlugins {
    PluginList plugins;
    std::vector<PluginCalls> calls;  ///< in the order of the profiles
};

/// `handle.profile` is not used. Requires that the configuration has at most MostProfiles.
ConfiguredPlugins make_plugins(const Handle& handle);

}  // namespace porthole::scheduler
