#include "scheduler/plugins/registry.h"

#include <set>

#include "base/result.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

PluginList make_plugins() {
    using Factory = std::unique_ptr<Plugin> (*)();
    constexpr Factory factories[] = {
        make_node_unschedulable, make_node_name,           make_taint_toleration, make_node_affinity,
        make_node_ports,         make_node_resources_fit,  make_volume_binding,   make_pod_topology_spread,
        make_inter_pod_affinity, make_balanced_allocation, make_image_locality,
    };
    PluginList plugins;
    std::set<std::string_view> names;
    for (const Factory make : factories) {
        plugins.push_back(make());
        CHECK(names.insert(plugins.back()->name()).second);
    }
    return plugins;
}

}  // namespace porthole::scheduler
