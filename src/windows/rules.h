#pragma once
#include <span>
#include <vector>

#include "windows/placement.h"
#include "windows/rule.h"

namespace porthole::windows {

/// How a rule reads and clears its field in the part of a pod that holds it.
template <class Part>
struct Field {
    bool (*is_set)(const Part&) = nullptr;
    void (*clear)(Part&) = nullptr;  ///< null unless the field is ignored
};

/// A rule about pods: its field is in one of the parts.
struct PodRule {
    Rule rule;
    Field<core::PodSpec> pod;
    Field<core::PodSecurityContext> pod_security;
    Field<core::SecurityContext> container_security;  ///< of containers of all three sorts
    Field<core::ResourceRequirements> resources;      ///< of init and regular containers
    Field<std::vector<core::EnvVar>> environment;     ///< of containers of all three sorts
    bool on_every_system = false;                     ///< the API speaks of it for pods of any system
};
std::span<const PodRule> pod_rules();

/// A rule about where a pod may be placed, which depends on the cluster; only the API server warns of it.
struct PlacementRule {
    Rule rule;
    bool (*applies)(const core::PodSpec&, Systems);
};
std::span<const PlacementRule> placement_rules();

/// A rule about services; only the API server warns of it.
struct ServiceRule {
    Rule rule;
    bool (*applies)(const core::Service&);
};
std::span<const ServiceRule> service_rules();

}  // namespace porthole::windows
