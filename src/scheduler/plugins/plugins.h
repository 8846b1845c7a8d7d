#pragma once
#include <memory>

#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

std::unique_ptr<Plugin> make_node_unschedulable();
std::unique_ptr<Plugin> make_node_name();
std::unique_ptr<Plugin> make_taint_toleration();
std::unique_ptr<Plugin> make_node_affinity();
std::unique_ptr<Plugin> make_node_ports();
std::unique_ptr<Plugin> make_node_resources_fit();
std::unique_ptr<Plugin> make_volume_binding();
std::unique_ptr<Plugin> make_pod_topology_spread();
std::unique_ptr<Plugin> make_inter_pod_affinity();
std::unique_ptr<Plugin> make_balanced_allocation();
std::unique_ptr<Plugin> make_image_locality();

}  // namespace porthole::scheduler
