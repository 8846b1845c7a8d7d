#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "windows/placement.h"
#include "windows/rule.h"

namespace porthole::windows {

/// How a rule reads and clears its field in the part of a pod that holds it.
template <class Part>
struct Field {
    bool (*is_set)(const Part&) = nullptr;
    void (*clear)(Part&) = nullptr;  ///< null where nothing but the table reads the field on Windows, or it is not ignored
};

/// A rule about pods: its field is in one of the parts.
struct PodRule {
    Rule rule;
    Field<core::PodSpec> pod;
    Field<core::PodSecurityContext> pod_security;
    Field<core::Volume> volume;
    Field<core::SecurityContext> container_security;               ///< of containers of all three sorts
    Field<core::VolumeMount> mount;                                ///< the same
    Field<std::vector<core::VolumeDevice>> devices;                ///< the same
    Field<std::vector<core::EnvVar>> environment;                  ///< the same
    Field<core::ResourceRequirements> resources;                   ///< of init and regular containers
    bool (*image)(std::string_view, const Conditions&) = nullptr;  ///< of containers of all three sorts
    bool (*annotation)(std::string_view key, std::string_view value) = nullptr;
    bool on_every_system = false;  ///< the API speaks of it for pods of any system
    bool keeps_pending = false;    ///< no node takes such a pod, and the scheduler says why
};
std::span<const PodRule> pod_rules();

/// A rule about where a pod may be placed, which depends on the cluster: the API server warns of it, and the scheduler tells it of pods
/// that no node takes.
struct PlacementRule {
    Rule rule;
    bool (*applies)(const core::PodSpec&, Systems) = nullptr;                   ///< null where the API server says nothing
    bool (*keeps_pending)(const core::PodSpec&, const NodeSummary&) = nullptr;  ///< null where it does not keep pods from nodes
};
std::span<const PlacementRule> placement_rules();

/// A rule about services.
struct ServiceRule {
    Rule rule;
    bool (*applies)(const core::Service&, const Conditions&);
};
std::span<const ServiceRule> service_rules();

/// Rules about services that only a node can apply, by what its host network service can do and which endpoints there are. The proxy
/// applies them.
std::span<const Rule> node_rules();

}  // namespace porthole::windows
