#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kubelet/node/host.h"
#include "kubelet/pod/resources.h"

namespace porthole::kubelet {

/// Properties of the node that are configured, not read from the machine.
struct NodeIdentity {
    std::string name;
    std::string hostname;                       ///< "" for the name
    std::vector<std::string> addresses;         ///< the main one first
    std::map<std::string, std::string> labels;  ///< in addition to the well-known ones
    std::vector<core::Taint> taints;            ///< at registration
    std::string provider_id;
    std::string version;  ///< of the kubelet, "v1.36.2"
    std::int32_t port = 10250;
    std::int64_t max_pods = 110;
    ResourceList kube_reserved, system_reserved;  ///< cpu, memory, ephemeral-storage
    std::int64_t eviction_memory = 100ll << 20;   ///< bytes kept free
    double eviction_storage = 0.10;               ///< share of the disk kept free
    std::string root_directory;                   ///< its disk is ephemeral-storage
};

/// "key=value" of a flag; "key" alone has an empty value.
std::pair<std::string, std::string> parse_label(const std::string& text);
/// "key=value:effect" or "key:effect" of a flag. Error: BadRequest.
Result<core::Taint> parse_taint(const std::string& text);

/// The labels that selectors rely on: they follow from the machine, and are restored when changed.
std::map<std::string, std::string> system_labels(const HostFacts& facts);
/// The same of the container runtime, "" if it is not known yet: on an emulated Windows host, the version of Wine that its pods have.
std::map<std::string, std::string> runtime_labels(const std::string& runtime_version);
/// The addresses in a node's status.
std::vector<core::NodeAddress> node_addresses(const NodeIdentity& identity);
/// The object of a new node, without a status.
core::Node new_node(const NodeIdentity& identity, const HostFacts& facts);

}  // namespace porthole::kubelet
