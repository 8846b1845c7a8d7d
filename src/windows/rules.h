#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "windows/placement.h"
#include "windows/rule.h"

namespace porthole::windows {

/// How a rule reads and clears its field, which is in a `Part` of a pod.
template <class Part>
struct Field {
    bool (*is_set)(const Part&) = nullptr;
    void (*clear)(Part&) = nullptr;  ///< null if only the table reads the field on Windows, or it is not ignored
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
    Field<std::string> message_path;                               ///< terminationMessagePath of containers of all three sorts
    bool (*image)(std::string_view, const Conditions&) = nullptr;  ///< of containers of all three sorts
    bool (*annotation)(std::string_view key, std::string_view value) = nullptr;
    bool (*where)(const Conditions&) = nullptr;  ///< only there; null: everywhere. Such a rule does not refuse single containers or volumes
    bool on_every_system = false;                ///< the API warns of it for pods of any system
    bool keeps_pending = false;                  ///< no node accepts such a pod, and the scheduler says why
};
std::span<const PodRule> pod_rules();

/// A rule about the placement of pods, which depends on the cluster: the API server warns of it, and the scheduler reports it for pods that
/// no node accepts.
struct PlacementRule {
    Rule rule;
    bool (*applies)(const core::PodSpec&, Systems) = nullptr;                   ///< null if the API server gives no warning
    bool (*keeps_pending)(const core::PodSpec&, const NodeSummary&) = nullptr;  ///< null if it does not keep pods from nodes
};
std::span<const PlacementRule> placement_rules();

/// A rule about services.
struct ServiceRule {
    Rule rule;
    bool (*applies)(const core::Service&, const Conditions&);
};
std::span<const ServiceRule> service_rules();

/// The limits of Windows that no manifest sets or lifts. Who meets one, such as the network check, explains it with its words.
std::span<const Rule> platform_rules();

/// Rules about services that only a node can apply, because they depend on its HNS and on endpoints. The proxy applies them.
std::span<const Rule> node_rules();

}  // namespace porthole::windows
